import { readFile } from "node:fs/promises";
import type { Route } from "../../server/route.ts";

/** Generated from the contract by `scripts/openapi.ts`. The path is the same from `src` and from `dist`. */
const FILE = new URL("../../../../docs/guide/openapi.json", import.meta.url);

export function openApiRoute(): Route {
  return {
    method: "GET",
    path: "/api/v1/openapi.json",
    role: "viewer",
    handler: async () => ({ json: await readFile(FILE, "utf8") }),
  };
}
