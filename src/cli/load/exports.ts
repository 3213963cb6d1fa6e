import { basename, dirname } from "node:path";
import { isClass, nameOf } from "../../job/handlers.ts";
import type { Punctual } from "../../punctual.ts";
import type { JobRecorder } from "./job-recorder.ts";

/**
 * Defines jobs for the exports of a file: every class with `handle()`, and a default-exported function under the name
 * of the file. Other exported functions are not jobs, so that a file can export helpers for its tests.
 */
export function defineExports(
  jobs: Punctual,
  file: string,
  module: Record<string, unknown>,
  recorder: JobRecorder,
): void {
  const handlers = new Set(jobs.definitions().map(({ handler }) => handler as unknown));
  const isDefined = (name: string) => jobs.definitions().some((one) => one.name === name);
  recorder.file = file;
  for (const [key, value] of Object.entries(module)) {
    if (typeof value !== "function" || handlers.has(value) || recorder.exported.has(value)) continue;
    if (isClass(value)) {
      if (!hasHandle(value)) continue;
      const name = value.name === "" || value.name === "default" ? nameByFile(file) : nameOf(value);
      // A name that was passed to define() in a file belongs to that job.
      if (!isDefined(name) || [...recorder.exported.values()].includes(name)) define(name, value);
    } else if (key === "default") {
      define(nameByFile(file), value);
    }
  }

  function define(name: string, handler: unknown): void {
    jobs.schedule(name, handler as never);
    recorder.exported.set(handler, name);
  }
}

/** Whether defineExports() finds jobs in a file. */
export function exportsJobs(module: Record<string, unknown>): boolean {
  return Object.entries(module).some(([key, value]) =>
    isClass(value) ? hasHandle(value) : key === "default" && typeof value === "function",
  );
}

function hasHandle(value: unknown): boolean {
  const { handle, prototype } = value as { handle?: unknown; prototype?: { handle?: unknown } };
  return typeof handle === "function" || typeof prototype?.handle === "function";
}

/** `send-invoice` for `jobs/send-invoice.ts`; an index file has the name of its folder. */
export function nameByFile(file: string): string {
  const name = basename(file).replace(/\.[cm]?[jt]s$/, "");
  return name === "index" ? basename(dirname(file)) : name;
}
