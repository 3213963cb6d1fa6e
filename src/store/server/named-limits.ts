import { chainOf } from "../chains.ts";
import { type NamedLimit, namedLimitName } from "../chooser.ts";
import type { Rate } from "../rate.ts";
import { namesAsJson, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import { readRate } from "../stored-limits.ts";

/** Named limits with their usage, all of one moment. */
export interface NamedLimits {
  /** Returns the limit of this name, also if no process has defined it. */
  find(name: string): Omit<NamedLimit, "hasCost"> & { rate: Rate | null };
  /** Texts of the buckets that exist, by the names of the limits. */
  buckets: ReadonlyMap<string, string>;
  /** The database's time. */
  now: number;
}

interface NamedRow {
  kind: "limit" | "bucket" | "running" | "now";
  name: string;
  word: string | null;
  number: number;
  chain: string;
}

/**
 * Reads named limits, what is spent of their rates, how many runs of all jobs under them are running, and the time. One
 * statement, so one snapshot. Every running run counts, whether or not its job was under the limit when it was claimed;
 * a chain counts once.
 */
export async function readNamed(
  tx: Sql,
  { db, t }: { db: ServerDatabase; t: Tables },
  names: string[],
): Promise<NamedLimits> {
  const list = db.rows({ name: "text" });
  const of = (table: string) => db.lookUp(list, table, "r.name = v.name");
  // `lim < 0`: an older worker that defines the job again leaves the column `under_limit`.
  const jobs = `(select r.name, r.under_limit from ${db.lookUp(list, t.jobs, "r.under_limit = v.name", "under")}
       where r.lim < 0 and exists (select 1 from ${t.limits} l where l.name = r.under_limit and l.lim > 0))`;
  const chain = chainOf("r.lease_token");
  const rows = await tx.all<NamedRow>(
    `select 'limit' as kind, r.name, r.rate as word, r.lim as number, '' as chain from ${of(t.limits)}
     union all
     select 'bucket', r.name, r.starts, 0, '' from ${of(t.rates)}
     union all
     select 'running', v.under_limit, null, count(*), ${chain}
       from ${db.lookUp(jobs, t.runs, "r.state = 2 and r.owner is null and r.name = v.name", "counted")}
      group by v.under_limit, ${chain}
     union all
     select 'now', '', null, now, '' from (${db.clock}) c`,
    ...[names, names.map(namedLimitName), names].map(namesAsJson),
  );
  const ofKind = (kind: NamedRow["kind"]) => rows.filter((row) => row.kind === kind);
  const limits = new Map(ofKind("limit").map((row) => [row.name, row]));
  const running = new Map<string, number>();
  for (const { name, number, chain } of ofKind("running"))
    running.set(name, (running.get(name) ?? 0) + (chain === "" ? number : 1));
  return {
    find(name) {
      const row = limits.get(name);
      const rate = readRate(row?.word ?? null);
      return { name, limit: row?.number ?? null, running: running.get(name) ?? 0, rate };
    },
    buckets: new Map(ofKind("bucket").map(({ name, word }) => [name, word!])),
    now: ofKind("now")[0]!.number,
  };
}
