import { chainOf } from "../chains.ts";
import {
  type Candidate,
  jobLimitName,
  keyLimitName,
  LIMIT_KINDS,
  type LimitSubject,
  type LimitUsage,
  queueLimitName,
  type RateUsage,
} from "../chooser.ts";
import { EMPTY, type Rate, readBucket } from "../rate.ts";
import { namesAsJson, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import {
  hasRates,
  type JobRates,
  jobLimitOf,
  keyLimitOf,
  queueLimitOf,
  readRate,
  readRates,
} from "../stored-limits.ts";
import { type NamedLimits, readNamed } from "./named-limits.ts";
import type { DatabaseTime } from "./time.ts";

export interface ServerUsage extends LimitUsage {
  /** Tokens of the chains that have running runs under these limits. */
  chains: ReadonlySet<string>;
  /** Jobs and queues with rates. */
  rated: { names: ReadonlySet<string>; queues: ReadonlySet<string> };
}

/** The runs that a claim may take, whatever the limits. */
export type UsageScope = Pick<LimitUsage, "isClosed" | "computesKey" | "computesCost">;

interface RateRow {
  kind: "job" | "queue" | "bucket" | "now";
  name: string;
  word: string | null;
  number: number;
}

/** Reads limits and how many runs are under each. */
export class UsageReader {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  readonly #time: DatabaseTime;

  constructor(db: ServerDatabase, tables: Tables, time: DatabaseTime) {
    this.#db = db;
    this.#t = tables;
    this.#time = time;
  }

  /**
   * Reads the limits of these runs and how many runs run under each. One statement, so one snapshot. Every running run
   * counts, whether or not the limit existed when it was claimed; a chain counts once. Rates are not read yet.
   */
  async read(
    tx: Sql,
    runs: LimitSubject[],
    { isClosed, computesKey, computesCost }: UsageScope,
  ): Promise<ServerUsage> {
    const db = this.#db;
    const t = this.#t;
    const list = db.rows({ name: "text" });
    const of = (table: string) => db.lookUp(list, table, "r.name = v.name");
    const limitedJobs = `(select r.name from ${of(t.jobs)} where r.lim > 0 or r.key_lim > 0)`;
    // Both values of `limited`: the index "ready" begins with state and limited.
    const limitedQueues = `(select r.name, l.limited from ${of(t.queues)} cross join (select 0 as limited union all select 1) l where r.lim > 0)`;
    const chain = chainOf("r.lease_token");
    const { names, queues } = namesIn(runs);
    const rows = await tx.all<{
      kind: string;
      name: string;
      lane: string;
      number: number;
      key_limit: number;
      chain: string;
    }>(
      `select 'job' as kind, r.name, '' as lane, r.lim as number, r.key_lim as key_limit, '' as chain from ${of(t.jobs)}
       union all
       select 'queue', r.name, '', r.lim, case when r.rate is null then 0 else 1 end, '' from ${of(t.queues)}
       union all
       select 'running', r.name, r.lane, count(*), 0, ${chain}
         from ${db.lookUp(limitedJobs, t.runs, "r.state = 2 and r.owner is null and r.name = v.name", "counted")}
        group by r.name, r.lane, ${chain}
       union all
       select 'busy', r.queue, '', count(*), 0, ${chain}
         from ${db.lookUp(limitedQueues, t.runs, "r.state = 2 and r.limited = v.limited and r.owner is null and r.queue = v.name", "ready")}
        group by r.queue, ${chain}`,
      ...[names, queues, names, queues].map(namesAsJson),
    );
    const ofKind = (kind: string) =>
      new Map(
        rows
          .filter((row) => row.kind === kind)
          .map(({ name, number, key_limit }) => [name, { lim: number, key_lim: key_limit }]),
      );
    const jobs = ofKind("job");
    const limits = ofKind("queue");
    const chains = new Set<string>();
    const running = new Map<string, number>();
    const keyOf = (...words: string[]) => JSON.stringify(words);
    for (const { kind, name, lane, number, chain } of rows) {
      if (kind !== "running" && kind !== "busy") continue;
      if (chain !== "") chains.add(chain);
      const slots = chain === "" ? number : 1;
      for (const key of [keyOf(kind, name), keyOf(kind, name, lane)]) {
        running.set(key, (running.get(key) ?? 0) + slots);
      }
    }
    const runningOf = (...words: string[]) => running.get(keyOf(...words)) ?? 0;
    const where = <Row>(found: Map<string, Row>, is: (row: Row) => boolean) =>
      new Set([...found].filter(([, row]) => is(row)).map(([name]) => name));
    return {
      isClosed,
      computesKey,
      computesCost,
      jobLimit: (name) => (jobs.has(name) ? jobLimitOf(jobs.get(name)!) : 0),
      keyLimit: (name) => (jobs.has(name) ? keyLimitOf(jobs.get(name)!) : 0),
      queueLimit: (queue) => queueLimitOf(limits.get(queue)?.lim ?? 0),
      runningOfJob: (name) => runningOf("running", name),
      runningOfLane: (name, lane) => runningOf("running", name, lane),
      runningOfQueue: (queue) => runningOf("busy", queue),
      chains,
      rated: {
        names: where(jobs, hasRates),
        queues: where(limits, ({ lim, key_lim }) => lim > 0 && key_lim === 1),
      },
    };
  }

  /**
   * Reads the rates of these runs, with the starts that count towards them and the database's time, in one statement.
   * Returns the usage as it is if no run is under a rate.
   */
  async withRates(tx: Sql, runs: LimitSubject[], usage: ServerUsage): Promise<ServerUsage> {
    const { names, queues } = usage.rated;
    const rated = runs.filter(({ name, queue }) => names.has(name) || queues.has(queue));
    if (rated.length === 0) return usage;
    const buckets = new Set([
      ...rated
        .filter(({ name }) => names.has(name))
        .flatMap((run) => [jobLimitName(run.name), keyLimitName(run)]),
      ...rated.filter(({ queue }) => queues.has(queue)).map(({ queue }) => queueLimitName(queue)),
    ]);
    const db = this.#db;
    const of = (table: string) => db.lookUp(db.rows({ name: "text" }), table, "r.name = v.name");
    const rows = await tx.all<RateRow>(
      `select 'job' as kind, r.name, r.rate as word, 0 as number from ${of(this.#t.jobs)}
       union all
       select 'queue', r.name, r.rate, 0 from ${of(this.#t.queues)}
       union all
       select 'bucket', r.name, r.starts, 0 from ${of(this.#t.rates)}
       union all
       select 'now', '', null, now from (${db.clock}) c`,
      ...[[...names], [...queues], [...buckets]].map(namesAsJson),
    );
    const jobs = new Map(
      rows.filter(({ kind }) => kind === "job").map(({ name, word }) => [name, readRates(word)]),
    );
    const under = new Set([...jobs.values()].flatMap((rates) => rates?.under?.limit ?? []));
    const named = under.size > 0 ? await readNamed(tx, { db, t: this.#t }, [...under]) : null;
    // The later time counts for all: the gates that the claim holds by then guard what was read before.
    const now = named?.now ?? rows.find(({ kind }) => kind === "now")!.number;
    return { ...usage, rates: ratesIn({ rows, jobs, named }, this.#time.exactly(now)) };
  }
}

/** Rows that were read of the rates of some runs. */
interface RatesRead {
  rows: RateRow[];
  jobs: ReadonlyMap<string, JobRates | null>;
  /** Null: no run is under a named limit. */
  named: NamedLimits | null;
}

function ratesIn({ rows, jobs, named }: RatesRead, now: number): NonNullable<LimitUsage["rates"]> {
  const ofKind = (kind: RateRow["kind"]) =>
    new Map(rows.filter((row) => row.kind === kind).map(({ name, word }) => [name, word]));
  const queues = new Map([...ofKind("queue")].map(([name, text]) => [name, readRate(text)]));
  const buckets = new Map([...ofKind("bucket"), ...(named?.buckets ?? [])]);
  const usageOf = (limit: string, rate: Rate | null | undefined): RateUsage | null => {
    const text = buckets.get(limit);
    return rate ? { rate, bucket: text ? readBucket(text) : EMPTY, isStored: text !== undefined, now } : null;
  };
  const namedOf = (job: string) => {
    const under = jobs.get(job)?.under;
    return under ? { ...named!.find(under.limit), hasCost: under.hasCost } : null;
  };
  return {
    isByKey: (name) => (jobs.get(name)?.key ?? null) !== null,
    of(limit, { name, queue }) {
      if (limit.startsWith(LIMIT_KINDS.job)) return usageOf(limit, jobs.get(name)?.job);
      if (limit.startsWith(LIMIT_KINDS.named)) return usageOf(limit, namedOf(name)!.rate);
      return usageOf(limit, limit.startsWith(LIMIT_KINDS.key) ? jobs.get(name)?.key : queues.get(queue));
    },
    named: namedOf,
  };
}

/** Returns the jobs and queues whose limits these runs can be under. */
function namesIn(runs: Omit<LimitSubject, "lane">[]): { names: string[]; queues: string[] } {
  return {
    names: [...new Set(runs.map(({ name }) => name))],
    queues: [...new Set(runs.map(({ queue }) => queue))],
  };
}

/** Whether the usage of the older runs includes every limit of the newer ones. */
export function coversLimits(older: Candidate[], newer: Candidate[]): boolean {
  const known = namesIn(older);
  const { names, queues } = namesIn(newer);
  return (
    names.every((name) => known.names.includes(name)) && queues.every((queue) => known.queues.includes(queue))
  );
}
