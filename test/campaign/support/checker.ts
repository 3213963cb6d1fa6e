import { mostAtOnce, type Try } from "../../process/support/sweep.ts";
import type { Entry } from "../../support/journal.ts";
import { batchesCounted } from "./batch-rules.ts";
import { type Execution, executionsIn, trusted } from "./executions.ts";
import { type Footprint, growthIn } from "./growth.ts";
import { LIMITS, QUEUE_OF, TICKING, tickNames, UNDER } from "./load.ts";
import { ratesHeld } from "./rate-rules.ts";

/** A run as it is in the tables at the end. */
export interface StoredRun {
  id: number;
  name: string;
  state: number;
  attempts: number;
  crashes: number;
  tick_at: number | null;
  /** JSON. */
  args: string | null;
  /** The id of its batch, for a callback with a suffix; null: it belongs to none. */
  batch_id: string | null;
}

/** A batch as it is in the tables at the end, with the counts of its members. */
export interface StoredBatch {
  id: number;
  /** 1: the first failure cancels the other members. */
  cancels: number;
  sealed_at: number | null;
  cancelled_at: number | null;
  finished_at: number | null;
  added: number;
  completed: number;
  failed: number;
  cancelled: number;
  skipped: number;
}

/** All that is known after a campaign. */
export interface Evidence {
  entries: readonly Entry[];
  finished: readonly StoredRun[];
  unfinished: readonly StoredRun[];
  batches: readonly StoredBatch[];
  /** The runs that have rows in the ledger, once for each row. */
  booked: readonly number[];
  footprint: Footprint;
}

export const COMPLETED = 3;
export const FAILED = 4;
export const CANCELLED = 5;

/** Attempts of a job, as `defineLoad` sets them. */
const MOST_ATTEMPTS = 6;

/** Returns a sentence for each violation. */
export function check(evidence: Evidence): string[] {
  const executions = executionsIn(evidence.entries);
  return [
    ...nothingLost(evidence),
    ...nothingDoubled(evidence),
    ...outcomesHaveCauses(evidence, executions),
    ...attemptsOnce(evidence, executions),
    ...lostToLater(evidence, executions),
    ...neverTwiceAtOnce(executions),
    ...limitsHeld(executions),
    ...ratesHeld(evidence, executions),
    ...batchesCounted(evidence, executions),
    ...uniqueKeysHeld(evidence, executions),
    ...ordered(evidence, executions),
    ...ranked(evidence, executions),
    ...ticksOnce(evidence, executions),
    ...bookedOnce(evidence),
    ...growthIn(evidence.entries, evidence.footprint, openBatches(evidence)),
  ];
}

function openBatches({ batches }: Evidence): number {
  return batches.filter(({ finished_at }) => finished_at === null).length;
}

/** Answers that a producer got, by the number of its request. */
function acceptedIn(
  entries: readonly Entry[],
): Map<number, { id: number; at: number; by: string; job: string; key: string | null }> {
  const accepted = new Map<number, { id: number; at: number; by: string; job: string; key: string | null }>();
  for (const { what, ids, text, at, by, job, key } of entries) {
    if (what !== "accepted") continue;
    const numbers = JSON.parse(text!) as number[];
    for (const [index, n] of numbers.entries())
      accepted.set(n, { id: ids![Math.min(index, ids!.length - 1)]!, at, by, job: job!, key: key ?? null });
  }
  return accepted;
}

function nothingLost({ entries, finished, unfinished }: Evidence): string[] {
  const known = new Set(finished.map(({ id }) => id));
  const wrong = unfinished
    // Ticks continue until the end.
    .filter(({ name, state }) => !tickNames.includes(name) || state === 2)
    .map(({ id, name, state }) => `run ${id} of ${name} is left in state ${state}`);
  const left = new Set(unfinished.map(({ id }) => id));
  for (const [n, { id }] of acceptedIn(entries)) {
    if (!known.has(id) && !left.has(id))
      wrong.push(`request ${n} was accepted as run ${id}, which does not exist`);
  }
  return wrong;
}

function nothingDoubled({ entries, finished, unfinished }: Evidence): string[] {
  const accepted = acceptedIn(entries);
  const wrong: string[] = [];
  const seen = new Map<number, number>();
  for (const { id, name, args } of [...finished, ...unfinished]) {
    if (tickNames.includes(name)) continue;
    const { n } = JSON.parse(args!) as { n: number };
    if (seen.has(n)) wrong.push(`request ${n} was inserted as runs ${seen.get(n)} and ${id}`);
    seen.set(n, id);
    const told = accepted.get(n);
    if (told && told.id !== id)
      wrong.push(`request ${n} was accepted as run ${told.id} and inserted as ${id}`);
  }
  return wrong;
}

function outcomesHaveCauses({ entries, finished, batches }: Evidence, executions: Execution[]): string[] {
  const of = Map.groupBy(executions, ({ run }) => run);
  const cancelled = new Set(entries.filter(({ what }) => what === "cancel").map(({ run }) => run));
  const cancelledBatches = new Set(
    batches.flatMap(({ id, cancelled_at }) => (cancelled_at === null ? [] : [String(id)])),
  );
  return finished.flatMap(({ id, name, state, crashes, batch_id }) => {
    const isCancelled = cancelled.has(id) || (batch_id !== null && cancelledBatches.has(batch_id));
    const mine = of.get(id) ?? [];
    const failures = mine.filter(({ failed }) => failed).length;
    // The transaction of a ledger's handler may have completed the run although its answer was lost, or its process
    // died before it could note the end: its row proves what it did.
    const isDone = ({ succeeded }: Execution) => succeeded || name === "ledger";
    if (state === COMPLETED && !mine.some(isDone))
      return [`run ${id} of ${name} completed, and no handler of it returned`];
    if (state === CANCELLED && !isCancelled) return [`run ${id} of ${name} was cancelled by nobody`];
    if (state === FAILED && failures < 1 && crashes < 2)
      return [`run ${id} of ${name} failed after ${failures} failures and ${crashes} crashes`];
    if (
      mine.filter(({ succeeded }) => succeeded).length > 0 &&
      state === FAILED &&
      failures < MOST_ATTEMPTS &&
      crashes < 2
    )
      return [`run ${id} of ${name} failed although a handler of it returned`];
    return [];
  });
}

function attemptsOnce({ entries }: Evidence, executions: Execution[]): string[] {
  const retried = new Set(entries.filter(({ what }) => what === "retry").map(({ run }) => run));
  const seen = new Map<string, Execution>();
  return executions.flatMap((one) => {
    const name = `${one.run} ${one.attempt}`;
    const other = seen.get(name);
    seen.set(name, one);
    if (!other || retried.has(one.run)) return [];
    return [`attempt ${one.attempt} of run ${one.run} started in ${other.by} and in ${one.by}`];
  });
}

/**
 * An attempt loses its run to a later one, to a cancellation or to a crash. If the last attempt of a completed run lost
 * it, another one has written its outcome over it. A ledger completes its run before its worker settles. A worker that
 * stopped without an answer does not know whether its outcome was written.
 */
function lostToLater({ entries, finished }: Evidence, executions: Execution[]): string[] {
  // A run that was taken and never started is given back. Its next attempt has the same number, and may be in the same
  // process.
  const starts = new Map(executions.map(({ pid, run, attempt, from }) => [`${pid} ${run} ${attempt}`, from]));
  const hasStarted = (attempt: string, at: number) => (starts.get(attempt) ?? Number.POSITIVE_INFINITY) < at;
  const completed = new Map(
    finished
      .filter(({ name, state }) => state === COMPLETED && name !== "ledger")
      .map(({ id, attempts }) => [id, attempts]),
  );
  return entries.flatMap(({ at, what, run, attempt, by, pid, text }) =>
    what === "run.lost" &&
    text === "lease" &&
    completed.get(run!) === attempt &&
    hasStarted(`${pid} ${run} ${attempt}`, at)
      ? [`attempt ${attempt} of run ${run} in ${by} lost its run, which no later attempt took`]
      : [],
  );
}

function neverTwiceAtOnce(executions: Execution[]): string[] {
  const most = mostAtOnce(trusted(executions), ({ run }) => String(run));
  return [...most].flatMap(([run, count]) => (count > 1 ? [`run ${run} ran ${count} times at once`] : []));
}

function limitsHeld(executions: Execution[]): string[] {
  const all = trusted(executions);
  const exceeded = (what: string, limit: number, of: Execution[], gate: (one: Try) => string) =>
    [...mostAtOnce(of, gate)].flatMap(([name, count]) =>
      count > limit ? [`${count} runs of ${what} ${name} at once, where ${limit} may be`] : [],
    );
  return [
    ...Object.entries(LIMITS.job).flatMap(([job, limit]) =>
      exceeded(
        "the job",
        limit,
        all.filter((one) => one.job === job),
        () => job,
      ),
    ),
    ...Object.entries(LIMITS.key).flatMap(([job, limit]) =>
      exceeded(
        `the job ${job} with the key`,
        limit,
        all.filter((one) => one.job === job),
        ({ key }) => key ?? "",
      ),
    ),
    ...Object.entries(LIMITS.queue).flatMap(([queue, limit]) =>
      exceeded(
        "the queue",
        limit,
        all.filter(({ job }) => QUEUE_OF[job] === queue),
        () => queue,
      ),
    ),
    ...Object.entries(LIMITS.named).flatMap(([name, limit]) =>
      exceeded(
        "the limit",
        limit,
        all.filter(({ job }) => UNDER[job] === name),
        () => name,
      ),
    ),
  ];
}

/**
 * A run certainly holds its key from its acceptance, or from its first start, until its last handler returns. The ids
 * of two producers tell no order.
 */
function uniqueKeysHeld({ entries }: Evidence, executions: Execution[]): string[] {
  const starts = Map.groupBy(
    trusted(executions).filter(({ job }) => job === "unique"),
    ({ run }) => run,
  );
  const requests = [...acceptedIn(entries).values()].filter(({ job }) => job === "unique");
  const byKey = Map.groupBy(requests, ({ key }) => key);
  return [...byKey].flatMap(([key, accepted]) => {
    const holders = [...Map.groupBy(accepted, ({ id }) => id)].flatMap(([id, answers]) => {
      const mine = starts.get(id) ?? [];
      if (mine.length === 0) return [];
      const from = Math.min(...mine.map((one) => one.from), ...answers.map(({ at }) => at));
      const to = Math.max(...mine.map((one) => (one.to === Infinity ? one.from : one.to)));
      return [{ id, from, to }];
    });
    holders.sort((a, b) => a.from - b.from);
    return holders.slice(1).flatMap((later, index) => {
      const earlier = holders[index]!;
      return earlier.to > later.from
        ? [`runs ${earlier.id} and ${later.id} held the unique key ${key} at once`]
        : [];
    });
  });
}

/**
 * In one process, runs of a lane that one producer dispatched one by one start in that order, except runs that another
 * worker had taken and given back, or lost.
 */
function ordered({ entries }: Evidence, executions: Execution[]): string[] {
  const startOf = firstStarts(entries, executions, "serial");
  const accepted = [...acceptedIn(entries)].filter(([, { job }]) => job === "serial");
  const byProducer = Map.groupBy(accepted, ([, { by }]) => by);
  return [...byProducer.values()].flatMap((requests) => {
    const starts = requests
      .sort(([a], [b]) => a - b)
      .flatMap(([, { id, at }]) => (startOf.has(id) ? [{ ...startOf.get(id)!, at }] : []));
    return starts.slice(1).flatMap((later, index) => {
      const earlier = starts[index]!;
      const isWrong = earlier.pid === later.pid && later.from < earlier.from && earlier.at < later.at;
      return isWrong ? [`run ${later.run} of the lane started before run ${earlier.run}`] : [];
    });
  });
}

/** First attempts of a job, without runs that a worker had taken and given back, or lost. */
function firstStarts(
  entries: readonly Entry[],
  executions: Execution[],
  job: string,
): Map<number, Execution> {
  const returned = new Set(
    entries.filter(({ what }) => what === "run.released" || what === "run.reaped").map(({ run }) => run),
  );
  const isFirst = (one: Execution) => one.job === job && one.attempt === 1 && !returned.has(one.run);
  return new Map(executions.filter(isFirst).map((one) => [one.run, one]));
}

/** Runs of a lane that were inserted together start in the order of their priorities. */
function ranked({ entries, finished }: Evidence, executions: Execution[]): string[] {
  const startOf = firstStarts(entries, trusted(executions), "ranked");
  const rankOf = new Map(
    finished
      .filter(({ name }) => name === "ranked")
      .map(({ id, args }) => [id, JSON.parse(args!).rank as number]),
  );
  return entries.flatMap(({ what, job, ids }) => {
    if (what !== "accepted" || job !== "ranked") return [];
    const starts = ids!.flatMap((id) => startOf.get(id) ?? []).sort((a, b) => a.from - b.from);
    return starts.slice(1).flatMap((later, index) => {
      const [first, second] = [starts[index]!.run, later.run].map((run) => rankOf.get(run)!);
      return first! > second!
        ? [
            `run ${later.run} of priority ${second} started after run ${starts[index]!.run} of priority ${first}`,
          ]
        : [];
    });
  });
}

/** Checks each schedule: no tick is made twice, and one that ticks every second misses none. */
function ticksOnce({ finished, unfinished }: Evidence, executions: Execution[]): string[] {
  const wrong = TICKING.flatMap(({ names, isSteady }) => {
    const ticks = [...finished, ...unfinished].filter(({ name }) => names.includes(name));
    const seconds = ticks.map(({ tick_at }) => Number(tick_at) / 1000).sort((a, b) => a - b);
    return seconds.slice(1).flatMap((second, index) => {
      const step = second - seconds[index]!;
      if (step < 1) return [`the tick of second ${second} of ${names[0]} was made twice`];
      return isSteady && step > 1
        ? [`${step - 1} ticks before second ${second} of ${names[0]} are missing`]
        : [];
    });
  });
  const started = new Set(executions.map(({ run }) => run));
  for (const { id, state } of finished.filter(({ name }) => tickNames.includes(name))) {
    if (state === COMPLETED && !started.has(id))
      wrong.push(`the tick of run ${id} completed and never started`);
  }
  return wrong;
}

/** A run of the ledger writes one row, in the transaction that completes it. */
function bookedOnce({ finished, booked }: Evidence): string[] {
  const rows = new Map<number, number>();
  for (const id of booked) rows.set(id, (rows.get(id) ?? 0) + 1);
  return finished.flatMap(({ id, name, state }) => {
    if (name !== "ledger") return [];
    const wanted = state === COMPLETED ? 1 : 0;
    const count = rows.get(id) ?? 0;
    return count === wanted ? [] : [`run ${id} of the ledger is in state ${state} and wrote ${count} rows`];
  });
}
