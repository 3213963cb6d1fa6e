import { yieldToEventLoop } from "../../time.ts";
import type { LogRecord } from "../records.ts";
import type { NewLogLine } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { first, idsAsJson } from "./database.ts";

/** Lines that one step of the sweep checks for missing runs. */
const SWEPT_AT_ONCE = 10_000;

/** Most lines to delete in one transaction, unless one run alone has more. */
const DELETED_AT_ONCE = 20_000;

const LINE_COLUMNS = {
  id: "integer",
  position: "integer",
  attempt: "integer",
  at: "integer",
  message: "text",
  data: "text",
} as const;

/**
 * Appends lines. Does not lock the runs: a run that is deleted at the same moment may leave lines behind for the
 * sweep.
 */
export function write(sql: SqlContext, lines: NewLogLine[]): Promise<void> {
  const { db, t } = sql;
  const list = lines.map(({ runId, position, attempt, at, message, data }) => [
    runId,
    position,
    attempt,
    at,
    message,
    data,
  ]);
  return sql.transaction((tx) =>
    tx.run(
      `insert into ${t.logs} (run_id, position, attempt, at, message, data)
       select v.id, v.position, v.attempt, v.at, v.message, v.data
         from ${db.rows(LINE_COLUMNS)} v
        where (exists (select 1 from ${t.runs} r where r.id = v.id) or exists (select 1 from ${t.history} h where h.id = v.id))
          and not exists (select 1 from ${t.logs} l where l.run_id = v.id and l.position = v.position)`,
      JSON.stringify(list),
    ),
  );
}

/** Returns lines of a run, in order, after a position. */
export function read(sql: SqlContext, id: number, after: number, limit: number): Promise<LogRecord[]> {
  const { t } = sql;
  return sql.all<LogRecord>(
    `select position, attempt, at, message, data from ${t.logs} where run_id = ? and position > ? order by position limit ?`,
    id,
    after,
    limit,
  );
}

export async function count(sql: SqlContext, id: number): Promise<number> {
  const { t } = sql;
  const counted = sql.all<{ n: number }>(`select count(*) as n from ${t.logs} where run_id = ?`, id);
  return (await first(counted))?.n ?? 0;
}

/** Splits runs into groups, so that no group has very many lines to delete. */
export async function inLightGroups(sql: SqlContext, ids: number[]): Promise<number[][]> {
  const { db, t } = sql;
  const counted = await sql.all<{ id: number; n: number }>(
    `select v.id, count(*) as n from ${db.lookUp(db.rows({ id: "integer" }), t.logs, "r.run_id = v.id")} group by v.id`,
    idsAsJson(ids),
  );
  const lines = new Map(counted.map(({ id, n }) => [id, n]));
  const groups: number[][] = [[]];
  let size = 0;
  for (const id of ids) {
    size += lines.get(id) ?? 0;
    if (size > DELETED_AT_ONCE && groups.at(-1)!.length > 0) {
      groups.push([]);
      size = lines.get(id) ?? 0;
    }
    groups.at(-1)!.push(id);
  }
  return groups;
}

/**
 * Deletes lines without a run. A process that has lost its lease may write such lines while another deletes the run.
 */
export class LogSweeper {
  readonly #sql: SqlContext;
  /** The run up to which lines were checked; 0: the next sweep starts from the first line. */
  #upTo = 0;

  constructor(sql: SqlContext) {
    this.#sql = sql;
  }

  /** Checks all lines (`whole`), or the next few thousand, so that the cost of a call does not grow with the table. */
  async sweep(whole: boolean): Promise<void> {
    if (whole) this.#upTo = 0;
    do {
      const runs = await this.#next();
      this.#upTo = runs.at(-1) ?? 0;
      if (runs.length > 0) await this.#deleteGone(runs);
      await yieldToEventLoop();
    } while (whole && this.#upTo > 0);
  }

  async #next(): Promise<number[]> {
    const rows = await this.#sql.all<{ id: number }>(
      `select distinct id from (select run_id as id from ${this.#sql.t.logs} where run_id > ? order by run_id, position limit ?) l order by id`,
      this.#upTo,
      SWEPT_AT_ONCE,
    );
    return rows.map(({ id }) => id);
  }

  async #deleteGone(runs: number[]): Promise<void> {
    const { runs: hot, history, logs } = this.#sql.t;
    const list = this.#sql.db.rows({ id: "integer" });
    const gone = await this.#sql.all<{ id: number }>(
      `select v.id from ${list} v left join ${hot} r on r.id = v.id left join ${history} h on h.id = v.id
        where r.id is null and h.id is null`,
      idsAsJson(runs),
    );
    if (gone.length === 0) return;
    await this.#sql.transaction((tx) =>
      tx.run(this.#sql.db.deleteFrom(logs, "run_id", list), idsAsJson(gone.map(({ id }) => id))),
    );
  }
}
