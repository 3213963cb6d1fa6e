import { MOST_OPEN_LANES, openLanes } from "../sql/claim-windows.ts";
import type { SqlContext } from "../sql/context.ts";
import type { ServerDatabase } from "../sql/database.ts";
import { cancelledOf } from "../sql/settle.ts";
import type { PausedNames } from "../store.ts";
import { type LanePosition, START } from "./lane-walk.ts";
import { readTogether } from "./round-trips.ts";

/** Facts that a claim needs before it looks for runs. */
export interface ClaimFacts {
  paused: PausedNames;
  /** Queues that are not paused and have ready runs without the limit hint. */
  unlimitedQueues: string[];
  /** Queues that are not paused and have ready runs with the limit hint. */
  limitedQueues: string[];
  /** Whether ad hoc runs of the claiming instance are ready. */
  hasOwned: boolean;
  /** Runs of this worker with a cancellation request. */
  cancelled: number[];
  nextDue: number | null;
  /** The database's time. */
  now: number;
}

/** Reads the facts in one round trip. `sql` need not be a transaction. */
export async function readFacts(
  sql: SqlContext<ServerDatabase>,
  { worker, owner }: { worker: string; owner: string },
  now: number,
): Promise<ClaimFacts> {
  const { db, t } = sql;
  const facts = await sql.all<{ kind: string; word: string; number: number | null }>(
    `select 'job' as kind, name as word, 0 as number from (${db.pausedJobs(t)}) p
     union all
     select 'queue', name, 0 from ${t.queues} where paused_at is not null and (paused_until is null or paused_until > ?)
     union all
     select 'ready', queue, limited from (${db.readyQueues(t)}) q
     union all
     select 'owned', '', case when exists (select 1 from ${t.runs}${db.using(t.runs, "owned")} where owner = ? and state = 1) then 1 else 0 end
     union all
     select 'cancelled', '', id from (${cancelledOf(db, t)}) c
     union all
     select 'due', '', run_at from (${db.nextDue(t)}) d
     union all
     select 'now', '', now from (${db.clock}) c`,
    now,
    owner,
    worker,
  );
  const of = (kind: string) => facts.filter((fact) => fact.kind === kind);
  const words = (kind: string) => of(kind).map(({ word }) => word);
  const pausedQueues = new Set(words("queue"));
  const queues = (limited: number) =>
    of("ready")
      .filter(({ word, number }) => number === limited && !pausedQueues.has(word))
      .map(({ word }) => word);
  return {
    paused: { jobs: words("job"), queues: [...pausedQueues] },
    unlimitedQueues: queues(0),
    limitedQueues: queues(1),
    hasOwned: of("owned")[0]?.number === 1,
    cancelled: of("cancelled").map(({ number }) => number!),
    nextDue: of("due")[0]?.number ?? null,
    now: of("now")[0]!.number!,
  };
}

/** Whether no claim can find anything by these facts. `isClosed`: no run with the limit hint can start. */
export function isIdle(
  { unlimitedQueues, limitedQueues, hasOwned, nextDue }: ClaimFacts,
  now: number,
  isClosed: boolean,
): boolean {
  const hasReady = unlimitedQueues.length > 0 || (limitedQueues.length > 0 && !isClosed) || hasOwned;
  return !hasReady && (nextDue === null || nextDue > now);
}

/** Returns the facts that decide at which runs with the limit hint a claim looks. */
export function lookBasis({ limitedQueues, paused }: ClaimFacts): unknown {
  return [limitedQueues, paused];
}

/** Whether a search by the older facts has looked at every queue that has ready runs, and at the right jobs. */
export function covers(older: ClaimFacts, newer: ClaimFacts): boolean {
  const within = (some: string[], all: string[]) => {
    const known = new Set(all);
    return some.every((one) => known.has(one));
  };
  return (
    within(newer.unlimitedQueues, older.unlimitedQueues) &&
    within(newer.limitedQueues, older.limitedQueues) &&
    (older.hasOwned || !newer.hasOwned) &&
    within(older.paused.jobs, newer.paused.jobs) &&
    within(newer.paused.jobs, older.paused.jobs)
  );
}

/** A queue, or one lane of it, in which a claim looks for runs without the limit hint. */
export interface ClaimTarget {
  queue: string;
  lane: LanePosition | null;
}

/** Returns where a claim looks: in whole queues, except those with runs of closed jobs, which it reads by lane. */
export async function claimTargets(
  tx: SqlContext<ServerDatabase>,
  queues: string[],
  closed: Set<string>,
): Promise<ClaimTarget[]> {
  const { db, t } = tx;
  const whole = (queue: string): ClaimTarget => ({ queue, lane: null });
  if (closed.size === 0) return queues.map(whole);
  const selects = queues.map((queue) => {
    const { text, params } = db.readyLanes(t, { queue, limited: 0 }, START, MOST_OPEN_LANES + 1);
    return {
      text: `select ${db.text} as queue, priority, lane from (${text}) l`,
      params: [queue, ...params],
    };
  });
  const found = await readTogether<LanePosition & { queue: string }>(tx, db, selects);
  const byQueue = Map.groupBy(found, ({ queue }) => queue);
  return queues.flatMap((queue) => {
    const lanes = openLanes(byQueue.get(queue) ?? [], closed);
    return lanes?.map((lane) => ({ queue, lane })) ?? whole(queue);
  });
}
