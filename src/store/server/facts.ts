import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";
import { cancelledOf } from "../sql/settle.ts";

/** What a claim must know before it looks for runs. */
export interface Facts {
  pausedJobs: string[];
  /** Queues that have ready runs and are not paused: without a limit, and under one. */
  free: string[];
  limited: string[];
  /** This instance has ad hoc runs that are ready. */
  owned: boolean;
  cancelled: number[];
  nextDue: number | null;
  /** The database's time. */
  now: number;
}

type Fact = { kind: string; word: string; number: number | null };

/** All in one round trip. */
export async function readFacts(
  sql: Sql,
  db: ServerDatabase,
  t: Tables,
  { worker, owner }: { worker: string; owner: string },
  now: number,
): Promise<Facts> {
  const facts = await sql.all<Fact>(
    `select 'job' as kind, name as word, 0 as number from ${t.jobs} where paused_at is not null
     union all
     select 'queue', name, 0 from ${t.queues} where paused_at is not null and (paused_until is null or paused_until > ?)
     union all
     select 'ready', queue, limited from (${db.readyQueues(t)}) q
     union all
     select 'owned', '', case when exists (select 1 from ${t.runs}${db.using(t.runs, "owned")} where owner = ? and state = 1) then 1 else 0 end
     union all
     select 'cancelled', '', id from (${cancelledOf(db, t)}) c
     union all
     select 'due', '', min(run_at) from ${t.runs}${db.using(t.runs, "scheduled")} where state = 0
     union all
     select 'now', '', now from (${db.clock}) c`,
    now,
    owner,
    worker,
  );
  const of = (kind: string) => facts.filter((fact) => fact.kind === kind);
  const words = (kind: string) => of(kind).map(({ word }) => word);
  const paused = new Set(words("queue"));
  const ready = (limited: number) =>
    of("ready")
      .filter(({ word, number }) => number === limited && !paused.has(word))
      .map(({ word }) => word);
  return {
    pausedJobs: words("job"),
    free: ready(0),
    limited: ready(1),
    owned: of("owned")[0]?.number === 1,
    cancelled: of("cancelled").map(({ number }) => number!),
    nextDue: of("due")[0]?.number ?? null,
    now: of("now")[0]!.number!,
  };
}

/** Whether a claim could find anything at all. */
export function isIdle({ free, limited, owned, nextDue }: Facts, now: number): boolean {
  return free.length === 0 && limited.length === 0 && !owned && (nextDue === null || nextDue > now);
}
