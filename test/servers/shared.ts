import { inject } from "vitest";
import type { ServerKind } from "./server.ts";
import type { Shared } from "./sharing.ts";

const asked = new Map<ServerKind, Promise<Shared>>();

/** The server that all tests of this run share. The environment names it, or it starts on first use. */
export function sharedServer(kind: ServerKind): Promise<Shared> {
  const known = asked.get(kind);
  if (known) return known;
  const answer = ask(kind);
  asked.set(kind, answer);
  return answer;
}

async function ask(kind: ServerKind): Promise<Shared> {
  const response = await fetch(`${inject("servers")}/${kind}`);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Shared;
}
