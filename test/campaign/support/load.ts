import type { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import type { Definition, Handler, Punctual, RunContext } from "../../../src/index.ts";
import type { Note } from "../../support/journal.ts";

/** Arguments of every run of a campaign. */
export interface Task {
  /** Number of the request, unique in the campaign. */
  n: number;
  /** How long the handler takes. */
  ms: number;
  key?: string;
  /** How many attempts fail before one succeeds. */
  failures?: number;
  /** How many attempts kill their process. */
  deaths?: number;
  /** The priority of the dispatch; a smaller number goes first. */
  rank?: number;
  /** Cost of the start of a run of `priced`. */
  cost?: number;
}

/** Keys of requests. */
export const KEYS = 4;

/** Limits that hold whatever is deployed. `flex` has two or three slots, depending on the version. */
export const LIMITS = {
  job: { serial: 1, ranked: 1, pair: 2, flex: 3 } as Record<string, number>,
  key: { keyed: 1 } as Record<string, number>,
  queue: { narrow: 3 } as Record<string, number>,
  named: { api: 3 } as Record<string, number>,
};

/** Starts that any window of the length `per` may have, in milliseconds, whatever is deployed. */
export const RATES = {
  job: { metered: { limit: 12, per: 1000 } } as Record<string, { limit: number; per: number }>,
  key: { quota: { limit: 4, per: 1000 } } as Record<string, { limit: number; per: number }>,
  /** Of named limits, in costs. */
  named: { api: { limit: 9, per: 1000 } } as Record<string, { limit: number; per: number }>,
};

/** The named limit that each job is under. */
export const UNDER: Record<string, string> = { priced: "api", flat: "api" };

export const QUEUE_OF: Record<string, string> = { crowd: "narrow" };

/** Jobs that producers dispatch, and batches, with their share of the requests. */
export const SHARES: [JobName | "batch", number][] = [
  ["free", 8],
  ["serial", 4],
  ["ranked", 2],
  ["renamed", 2],
  ["pair", 3],
  ["keyed", 4],
  ["crowd", 4],
  ["flex", 3],
  ["unique", 3],
  ["ledger", 3],
  ["metered", 2],
  ["quota", 2],
  ["priced", 1],
  ["flat", 1],
  ["batch", 3],
];

export type JobName =
  | "free"
  | "serial"
  | "ranked"
  | "renamed"
  | "pair"
  | "keyed"
  | "crowd"
  | "flex"
  | "unique"
  | "ledger"
  | "metered"
  | "quota"
  | "priced"
  | "flat"
  | "member"
  | "callback";

/**
 * Jobs that tick, with the names that each version gives them. `isSteady`: they tick every second, whatever is
 * deployed.
 */
export const TICKING: { names: string[]; isSteady: boolean }[] = [
  { names: ["ticking"], isSteady: true },
  { names: ["beat", "beat.next"], isSteady: false },
  { names: ["shifting"], isSteady: false },
];

export const tickNames: string[] = TICKING.flatMap(({ names }) => names);

/** Operators act on jobs whose runs may end in any way, and on a queue. */
export const OPERATED: JobName[] = ["free", "pair", "crowd", "flex"];
export const OPERATED_QUEUE = "narrow";

/** Long enough that a frozen process loses it, and short enough that a campaign has many. */
export const LEASE = 5;

const ATTEMPTS = 6;

/** Fails an attempt on purpose. */
export class PlannedFailure extends Error {
  override readonly name = "PlannedFailure";
}

/** Whether a version renames jobs. The version after it is a roll-back. */
export const isNext = (version: number): boolean => version % 2 === 1;

/** Jobs that versions define differently. */
type ChangingJob = "renamed" | "flex";

/** Defines the jobs of a campaign as the given version of the code does. */
export function defineLoad(jobs: Punctual, note: Note, version: number): Record<JobName, Definition<Task>> {
  const handler: Handler<Task> = (task, run) => work(task, run, note);
  const steady = defineSteady(jobs, note, handler);
  /** The next version renames a job; a roll-back knows nothing of it. */
  const rename = (name: string) =>
    isNext(version) ? jobs.define(`${name}.next`, handler).formerly(name) : jobs.define(name, handler);
  tick(rename("beat")).everySecond();
  const shifting = tick(jobs.define("shifting", handler));
  if (isNext(version)) shifting.everyTwoSeconds();
  else shifting.everySecond();
  return {
    ...steady,
    renamed: retried(rename("renamed")).concurrency(0),
    flex: retried(jobs.define("flex", handler)).concurrency(isNext(version) ? 2 : 3),
  };
}

/** Defines the jobs that all versions define alike. No run of them kills its process. */
export function defineVeteran(jobs: Punctual, note: Note): void {
  defineSteady(jobs, note, (task, run) => work({ ...task, deaths: 0 }, run, note));
}

const tick = (job: Definition<Task>) => job.misfire("all").concurrency(0).lease(LEASE).args({ n: 0, ms: 1 });

const retried = (job: Definition<Task>) => job.attempts({ max: ATTEMPTS, base: 0.2, cap: 1 }).lease(LEASE);

function defineSteady(
  jobs: Punctual,
  note: Note,
  handler: Handler<Task>,
): Record<Exclude<JobName, ChangingJob>, Definition<Task>> {
  const meter: Handler<Task> = async (task, run) => {
    await noteClaim(jobs, run, note);
    await work(task, run, note);
  };
  const define = (name: JobName, handle = handler) => retried(jobs.define(name, handle));
  jobs.limit("api", { concurrency: LIMITS.named.api!, rate: { limit: RATES.named.api!.limit, per: "1s" } });
  jobs.queue("narrow", { concurrency: LIMITS.queue.narrow! });
  tick(jobs.define("ticking", handler)).everySecond();
  return {
    free: define("free").concurrency(0),
    serial: define("serial"),
    ranked: define("ranked"),
    pair: define("pair").concurrency(2),
    keyed: define("keyed").concurrency(0, { perKey: 1, by: ({ key }) => key }),
    crowd: define("crowd").concurrency(0).queue("narrow"),
    unique: define("unique").concurrency(0),
    ledger: define("ledger", (task, run) => book(task, run, note)).concurrency(0),
    metered: define("metered", meter).concurrency(0).rate(RATES.job.metered!.limit, "1s"),
    quota: define("quota", meter)
      .concurrency(0)
      .rate(null, "1s", { perKey: RATES.key.quota!.limit, by: ({ key }) => key }),
    priced: define("priced", meter)
      .concurrency(0)
      .under("api", { cost: ({ cost }) => cost ?? 1 }),
    flat: define("flat", meter).concurrency(0).under("api"),
    // Few attempts, so that batches fail.
    member: define("member").attempts({ max: 2, base: 0.2 }).concurrency(0),
    callback: define("callback").concurrency(0),
  };
}

function begin(run: RunContext, note: Note) {
  const { id, attempt, crashes, key, name, scheduledFor } = run;
  const of = { run: id, attempt, crashes, key, job: name, text: scheduledFor.toISOString() };
  note("start", of);
  run.signal.addEventListener("abort", () => note("abort", { ...of, code: codeOf(run.signal.reason) }));
  return of;
}

/** Notes the time that the claim of a run under a rate has written, by the clock of the database. */
async function noteClaim(jobs: Punctual, run: RunContext, note: Note): Promise<void> {
  const stored = await jobs.find(run.id).catch(() => null);
  // If the lease is lost, the row may be that of another attempt.
  if (stored?.state !== "running" || stored.attempts !== run.attempt) return;
  const { id, attempt, name, key } = run;
  note("claimed", { run: id, attempt, job: name, key, ids: [stored.startedAt!.getTime()] });
}

async function work(task: Task, run: RunContext, note: Note): Promise<void> {
  const of = begin(run, note);
  if (run.crashes < (task.deaths ?? 0)) {
    note("dies");
    process.kill(process.pid, "SIGKILL");
  }
  await pause(task.ms);
  if (run.attempt <= (task.failures ?? 0)) {
    note("end", { ...of, code: "PLANNED" });
    throw new PlannedFailure("on purpose");
  }
  note("end", of);
}

/** Writes a row in the transaction that completes the run. */
async function book(task: Task, run: RunContext, note: Note): Promise<void> {
  const of = begin(run, note);
  await pause(task.ms);
  try {
    await run.transaction<unknown>(insertRow(run.id) as never);
    note("end", of);
  } catch (error) {
    note("end", { ...of, code: codeOf(error) });
    throw error;
  }
}

export const LEDGER = "campaign_ledger";

/** Returns a function that inserts a row with the client of any database. SQLite takes no asynchronous one. */
function insertRow(id: number): (tx: unknown) => unknown {
  const statement = `insert into ${LEDGER} (run) values (${id})`;
  return (tx) => {
    const { exec, query } = tx as Partial<DatabaseSync> & { query?(text: string): Promise<unknown> };
    if (exec) return void exec.call(tx, statement);
    return query!.call(tx, statement).then(() => {});
  };
}

export function codeOf(error: unknown): string {
  return (error as { code?: string } | null)?.code ?? String(error);
}
