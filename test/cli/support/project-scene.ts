import { join } from "node:path";
import { afterEach } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { type Ended, project, type RunOptions, run } from "./punctual.ts";

export interface Scene {
  cwd: string;
  url: string;
  /** An instance on the same file, in the process of the test. */
  jobs: Punctual;
  /** Calls `punctual` in the folder, on the file. */
  call(...args: string[]): Promise<Ended>;
  callWith(options: RunOptions, ...args: string[]): Promise<Ended>;
}

const opened: Punctual[] = [];

/** A folder with a database, and the program called on it. */
export function scene(): Scene {
  const cwd = project();
  const url = `sqlite:${join(cwd, "jobs.db")}`;
  const callWith = (options: RunOptions, ...args: string[]) =>
    run(args, { cwd, ...options, env: { PUNCTUAL_DATABASE_URL: url, ...options.env } });
  return { cwd, url, jobs: another(url), call: (...args) => callWith({}, ...args), callWith };
}

export function another(url: string): Punctual {
  const jobs = new Punctual(url, { logger: false });
  opened.push(jobs);
  return jobs;
}

afterEach(async () => {
  for (const jobs of opened.splice(0)) await jobs.stop();
});
