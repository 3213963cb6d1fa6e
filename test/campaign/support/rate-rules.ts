import type { Entry } from "../../support/journal.ts";
import { mostInWindow } from "../../support/rate-journal.ts";
import type { Evidence } from "./checker.ts";
import type { Execution } from "./executions.ts";
import { RATES, type Task, UNDER } from "./load.ts";

interface Rated {
  job: string;
  key: string | null;
  /** Units of a named limit that a start uses up. */
  cost: number;
}

/** A start, and the earliest moment at which the run can have been claimed. */
interface Claim extends Rated {
  from: number;
  earliest: number;
}

/** The clocks of the database and of the journal may run at rates that differ a little. */
const SLACK = 0.99;

/**
 * No window has more starts than its rate, by two clocks. The database's: every claim under a rate writes its time,
 * which the handler reads. The journal's, which owes nothing to the product: a run was claimed after its request and
 * after its last attempt, and before its handler started. So if too many runs were requested and started within one
 * window, they were claimed within it. Claims whose process died before its handler could note them are not known. The
 * clock of the database judges first attempts only: after a crash a run waits for a process of its own, and the time in
 * its row is that of its start, while the rate has counted its claim.
 */
export function ratesHeld({ entries, finished }: Evidence, executions: Execution[]): string[] {
  const requests = requestTimes(entries);
  const tasks = new Map(finished.map(({ id, args }) => [id, (args && JSON.parse(args)) as Task | null]));
  const costOf = (run: number) => tasks.get(run)?.cost ?? 1;
  const requestedAt = (run: number) => requests.get(tasks.get(run)?.n ?? 0) ?? -Infinity;
  const claims = claimsIn(executions, requestedAt, costOf);
  const recorded = new Map(
    entries
      .filter(({ what, attempt }) => what === "claimed" && attempt === 1)
      .map(({ run, attempt, job, key, ids }) => [
        `${run} ${attempt}`,
        { job: job!, key: key ?? null, cost: costOf(run!), at: ids![0]! },
      ]),
  );
  return bucketNames(executions).flatMap(({ name, rate: { limit, per }, isIn, hasCosts = false }) => {
    // A start that costs 3 counts as three.
    const spread = <One extends Rated>(all: One[]) =>
      all.filter(isIn).flatMap((one) => Array<One>(hasCosts ? one.cost : 1).fill(one));
    const times = spread([...recorded.values()]).map(({ at }) => at);
    const byDatabase = mostInWindow(times, per);
    const byJournal = mostClaimed(spread(claims), per * SLACK);
    const report = (most: number, clock: string) =>
      most > limit
        ? [
            `${most} ${hasCosts ? "units" : "runs"} of ${name} started within ${per} ms by the clock of the ${clock}, where ${limit} may`,
          ]
        : [];
    return [...report(byDatabase, "database"), ...report(byJournal, "journal")];
  });
}

/** When each request was noted, by its number. */
function requestTimes(entries: readonly Entry[]): Map<number, number> {
  return new Map(
    entries
      .filter(({ what }) => what === "request")
      .flatMap(({ at, ids }) => ids!.map((n): [number, number] => [n, at])),
  );
}

function claimsIn(
  executions: Execution[],
  requestedAt: (run: number) => number,
  costOf: (run: number) => number,
): Claim[] {
  const last = new Map<number, number>();
  return executions
    .filter(({ job }) => job in RATES.job || job in RATES.key || job in UNDER)
    .sort((a, b) => a.from - b.from)
    .map(({ run, job, key, from }) => {
      const earliest = last.get(run) ?? requestedAt(run);
      last.set(run, from);
      return { job, key, cost: costOf(run), from, earliest };
    });
}

interface RatedBucket {
  name: string;
  rate: { limit: number; per: number };
  isIn(one: Rated): boolean;
  hasCosts?: boolean;
}

function bucketNames(executions: Execution[]): RatedBucket[] {
  const keys = (job: string) => new Set(executions.flatMap((one) => (one.job === job ? [one.key] : [])));
  return [
    ...Object.entries(RATES.job).map(([job, rate]) => ({
      name: `the job ${job}`,
      rate,
      isIn: (one: Rated) => one.job === job,
    })),
    ...Object.entries(RATES.key).flatMap(([job, rate]) =>
      [...keys(job)].map((key) => ({
        name: `the job ${job} with the key ${key}`,
        rate,
        isIn: (one: Rated) => one.job === job && one.key === key,
      })),
    ),
    ...Object.entries(RATES.named).map(([limit, rate]) => ({
      name: `the limit ${limit}`,
      rate,
      isIn: (one: Rated) => UNDER[one.job] === limit,
      hasCosts: true,
    })),
  ];
}

/** Returns the most claims that certainly lie within one window of this length. `claims` ascend by their starts. */
function mostClaimed(claims: Claim[], per: number): number {
  let most = 0;
  for (const { earliest: begin } of claims) {
    if (begin === -Infinity) continue;
    let count = 0;
    for (let index = firstFrom(claims, begin); index < claims.length; index++) {
      const { from, earliest } = claims[index]!;
      if (from >= begin + per) break;
      if (earliest >= begin) count++;
    }
    most = Math.max(most, count);
  }
  return most;
}

/** Returns the index of the first claim whose start is not before a time. */
function firstFrom(claims: Claim[], time: number): number {
  let [low, high] = [0, claims.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (claims[middle]!.from < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
