import { ID_GAP } from "../server/ids.ts";
import type { Sql, Tables } from "../sql/database.ts";
import { idSequence } from "./dialect.ts";

/**
 * The cluster and its timeline, as text: a promoted standby and a server restored from a backup begin a new timeline.
 * Null on a standby, and on Aurora, whose standbys share the storage of the writer and lose nothing.
 */
export const TIMELINE = `case when pg_is_in_recovery() or to_regproc('aurora_version') is not null then null
  else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end`;

/** Most ids that one statement skips to get above others: some tenths of a second. */
const MAX_STEP = 1_000_000;

export interface IdRequest {
  count: number;
  /** All ids must be higher. */
  above: number;
}

const MAY_READ = ["pg_control_system()", "pg_current_wal_lsn()", "pg_walfile_name(pg_lsn)"]
  .map((name) => `has_function_privilege('${name}', 'execute')`)
  .join(" and ");

/**
 * Takes ids from the sequence. A standby that lagged when it was promoted would hand out ids a second time that runs of
 * the lost timeline had, and handlers use them as idempotency keys elsewhere. So the first process that takes ids on a
 * new timeline skips ids (note 54). Every reservation reads the timeline: a pooler may hide a failover.
 */
export class IdSequence {
  /** Reads the timeline, or null for a user who may not read it; undefined: not known yet. */
  #expression: string | undefined;
  #known: string | null = null;

  /** `beside` runs the statement that skips ids; in a transaction it would keep a row locked. */
  async take(sql: Sql, beside: Sql, t: Tables, { count, above }: IdRequest): Promise<number[]> {
    this.#expression ??= await this.#begin(sql, beside, t);
    for (;;) {
      // A subquery is evaluated once, not for each row.
      const rows = await sql.all<{ id: number; timeline: string | null }>(
        `select nextval('${idSequence(t)}') as id, (select ${this.#expression}) as timeline from generate_series(1, ?)`,
        count,
      );
      const { timeline } = rows[0]!;
      if (timeline !== null && timeline !== this.#known) {
        this.#known = await adopt(beside, t);
        continue;
      }
      const ids = rows.map(({ id }) => id).sort((a, b) => a - b);
      if (ids[0]! > above) return ids;
      await skip(sql, t, above - ids.at(-1)!);
    }
  }

  async #begin(sql: Sql, beside: Sql, t: Tables): Promise<string> {
    const [row] = await sql.all<{ may: boolean }>(`select ${MAY_READ} as may`);
    if (!row!.may) return "cast(null as text)";
    this.#known = await adopt(beside, t);
    return TIMELINE;
  }
}

/** Moves the sequence forward. */
async function skip(sql: Sql, t: Tables, ids: number): Promise<void> {
  for (let left = ids; left > 0; left -= MAX_STEP) {
    await sql.all(
      `select count(nextval('${idSequence(t)}')) as skipped from generate_series(1, ?)`,
      Math.min(left, MAX_STEP),
    );
  }
}

/**
 * Records the timeline, skips ids if it is new, and returns it. One process does so; the others wait for its row lock.
 * `nextval` moves the sequence only forward, also while others use it; `setval` could move it back.
 */
async function adopt(sql: Sql, t: Tables): Promise<string | null> {
  const [row] = await sql.all<{ timeline: string | null }>(
    `with moved as (update ${t.ids} set timeline = ${TIMELINE} where id = 1 and timeline <> ${TIMELINE} returning 1)
     select ${TIMELINE} as timeline,
            (select count(nextval('${idSequence(t)}')) from moved cross join generate_series(1, ${ID_GAP})) as skipped`,
  );
  return row!.timeline;
}
