import { basename, dirname } from "node:path";
import { isClass, nameOf } from "../../job/handlers.ts";
import type { Punctual } from "../../punctual.ts";
import type { Gathering } from "./gathering.ts";

/**
 * Makes jobs of what a file exports: every class with `handle()`, and a function that is its default export, under the
 * name of the file. Other functions are not jobs: a file may export what its tests need.
 */
export function defineExports(
  jobs: Punctual,
  file: string,
  module: Record<string, unknown>,
  gathering: Gathering,
): void {
  const handlers = new Set(jobs.definitions().map(({ handler }) => handler as unknown));
  const isDefined = (name: string) => jobs.definitions().some((one) => one.name === name);
  gathering.file = file;
  for (const [key, value] of Object.entries(module)) {
    if (typeof value !== "function" || handlers.has(value) || gathering.exported.has(value)) continue;
    if (isClass(value)) {
      if (!hasHandle(value)) continue;
      const name = value.name === "" || value.name === "default" ? nameByFile(file) : nameOf(value);
      // One that was given to define() in a file is that job.
      if (!isDefined(name) || [...gathering.exported.values()].includes(name)) define(name, value);
    } else if (key === "default") {
      define(nameByFile(file), value);
    }
  }

  function define(name: string, handler: unknown): void {
    jobs.schedule(name, handler as never);
    gathering.exported.set(handler, name);
  }
}

/** Whether a file can have jobs that were not defined by the time it was loaded. */
export function exportsJobs(module: Record<string, unknown>): boolean {
  return Object.entries(module).some(([key, value]) =>
    isClass(value) ? hasHandle(value) : key === "default" && typeof value === "function",
  );
}

function hasHandle(value: unknown): boolean {
  const { handle, prototype } = value as { handle?: unknown; prototype?: { handle?: unknown } };
  return typeof handle === "function" || typeof prototype?.handle === "function";
}

/** `jobs/send-invoice.ts` is `send-invoice`; an index is called as its folder. */
export function nameByFile(file: string): string {
  const name = basename(file).replace(/\.[cm]?[jt]s$/, "");
  return name === "index" ? basename(dirname(file)) : name;
}
