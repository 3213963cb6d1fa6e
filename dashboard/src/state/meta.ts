import { type Signal, signal } from "@preact/signals";
import type { Bootstrap, Meta, Role } from "../../../src/dashboard/api/contract.ts";
import { request } from "../api/client.ts";
import { overview } from "../live/live.ts";
import { setClock } from "../time/clock.ts";
import { bootstrap } from "./bootstrap.ts";

/** The user of the page, and its name. */
export type Identity = Pick<Bootstrap, "title" | "environment" | "version" | "user" | "readOnly">;

/** How the server and its database are set up; null until the database has answered. */
export const meta: Signal<Meta | null> = signal(bootstrap?.meta ?? null);

const UNKNOWN: Identity = {
  title: "Punctual",
  environment: null,
  version: "",
  user: { name: null, role: "viewer" },
  readOnly: true,
};

/** Known from the HTML, also while the database is down. */
export function identity(): Identity {
  return bootstrap ?? meta.value ?? UNKNOWN;
}

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** Whether the user may do what needs this role, and the server would. The server checks again. */
export function may(role: Role): boolean {
  const { user, readOnly } = identity();
  const writable = !readOnly && overview.value?.versions.writable !== false;
  return role === "viewer" || (writable && RANK[user.role] >= RANK[role]);
}

/** Reads what the HTML did not have, until the database answers. */
export async function loadMeta(): Promise<void> {
  if (meta.value) return;
  try {
    meta.value = await request("GET /meta");
    setClock(meta.value.now);
  } catch {
    setTimeout(loadMeta, 5_000);
  }
}
