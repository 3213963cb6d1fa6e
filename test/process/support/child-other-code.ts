import { Punctual } from "../../../src/index.ts";
import type { Act } from "./process-jobs.ts";

/** A producer whose code defines the jobs differently from the workers' code. It dispatches and ends. */
export type OtherCode =
  /** Every job without a limit, and no queue has one. */
  | "without limits"
  /** Limits as an older version had them: larger, and no key. */
  | "with older limits"
  /** Jobs that are only declared. */
  | "declared"
  /** Only names. */
  | "by name";

const [database, code, job, queue, acts] = process.argv.slice(2) as [
  string,
  OtherCode,
  string,
  string,
  string,
];
const jobs = new Punctual(`sqlite:${database}`);
const nothing = (_: Act) => {};

if (code === "without limits") jobs.schedule(job, nothing).concurrency(0);
if (code === "with older limits") jobs.schedule(job, nothing).concurrency(50);
if (code === "declared") jobs.declare(job);

const list = JSON.parse(acts) as Act[];
await Promise.all(list.map((act) => jobs.dispatch(job, act).queue(queue)));
await jobs.stop();
