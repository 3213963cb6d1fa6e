import { type Signal, signal } from "@preact/signals";
import type { Meta, Role } from "../../../src/dashboard/api/contract.ts";
import { request } from "../api/client.ts";
import { bootstrap } from "./bootstrap.ts";

/** How the server is set up; null until `GET /meta` has answered, if the HTML had no bootstrap. */
export const meta: Signal<Meta | null> = signal(bootstrap);

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** Whether the user may do what needs this role. The server checks again. */
export function may(role: Role): boolean {
  const current = meta.value;
  if (!current) return false;
  return role === "viewer" || (!current.readOnly && RANK[current.user.role] >= RANK[role]);
}

export async function loadMeta(): Promise<void> {
  if (meta.value) return;
  try {
    meta.value = await request("GET /meta");
  } catch {
    setTimeout(loadMeta, 5_000);
  }
}
