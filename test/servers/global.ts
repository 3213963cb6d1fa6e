import type { TestProject } from "vitest/node";
import { Sharing } from "./sharing.ts";

declare module "vitest" {
  export interface ProvidedContext {
    servers: string;
  }
}

/** Starts no server by itself: tests that need none wait for none. */
export default async function shareServers(project: TestProject): Promise<() => Promise<void>> {
  const sharing = new Sharing();
  project.provide("servers", await sharing.listen());
  return () => sharing.stop();
}
