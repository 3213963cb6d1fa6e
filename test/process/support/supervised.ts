import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SuperviseOptions } from "../../../src/index.ts";
import type { Entry } from "../../support/journal.ts";
import type { Child } from "../../support/start-child.ts";
import type { Edition, SupervisedConfig } from "./child-supervised.ts";
import type { Scene } from "./scene.ts";

/** Long leases: a run that comes back before they end was taken back. */
export const LEASE = 60;

export function supervisor(
  scene: Scene,
  options: SuperviseOptions,
  edition?: string,
  more?: Partial<SupervisedConfig>,
): Child {
  const config: SupervisedConfig = {
    name: "supervisor",
    database: scene.path,
    journal: scene.journal.path,
    lease: LEASE,
    options,
    ...(edition !== undefined && { edition }),
    ...more,
  };
  return scene.start("supervisor", "child-supervised.ts", [JSON.stringify(config)]);
}

/** Writes an edition of the program's definitions, which later processes read; returns its path. */
export function writeEdition(scene: Scene, edition: Edition): string {
  const path = join(scene.folder, "edition.json");
  writeFileSync(path, JSON.stringify(edition));
  return path;
}

/** The payload of an event. */
export const told = <Event = Record<string, unknown>>({ text }: Entry): Event => JSON.parse(text!) as Event;

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
