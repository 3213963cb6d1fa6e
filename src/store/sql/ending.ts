import type { ColumnType, Database, Sql, Tables } from "./database.ts";
import { spread } from "./row-source.ts";

/** What history takes over from the run as it is. */
const COPIED = [
  "name",
  "queue",
  "lane",
  "limited",
  "priority",
  "run_at",
  "args",
  "attempts",
  "crashes",
  "timeout",
  "retries",
  "schedule",
  "tick_at",
  "unique_key",
  "unique_until",
  "owner",
  "progress",
  "tags",
  "parent_id",
  "batch_id",
  "traceparent",
  "created_at",
];

/** What history says besides. */
const ENDING: Record<string, ColumnType> = {
  id: "integer",
  state: "integer",
  started_at: "integer",
  finished_at: "integer",
  keep_until: "integer",
  error: "text",
  fingerprint: "text",
  result: "text",
  child: "text",
};

/** How a run ends. */
export interface Ending {
  id: number;
  state: number;
  startedAt: number | null;
  error: string | null;
  fingerprint: string | null;
  result: string | null;
  keep: number | null;
  /** A run that holds a unique key for a while stays that long, whatever its retention. */
  uniqueUntil: number | null;
  attempts: number;
  /** Lines logged under the attempt's number. */
  logged: number;
  child?: string | null;
}

/** How a run ends of which only the lease is known. */
export interface HeldEnding extends Omit<Ending, "uniqueUntil" | "attempts"> {
  token: string;
}

const HELD_ENDING: Record<string, ColumnType> = {
  id: "integer",
  token: "text",
  state: "integer",
  started_at: "integer",
  now: "integer",
  keep: "integer",
  error: "text",
  fingerprint: "text",
  result: "text",
  child: "text",
};

const KEPT =
  "case when v.keep is null or v.keep <> 0 or coalesce(r.unique_until, 0) > v.now then 1 else 0 end";

/** A run that has left, as it was. */
export interface Ended {
  id: number;
  token: string;
  name: string;
  lane: string;
  queue: string;
  limited: number;
  attempts: number;
  logged: number;
  /** 1: it is in history. */
  kept: number;
}

/** How runs leave the table of those that are to run. */
export class Endings {
  readonly #db: Database;
  readonly #t: Tables;

  constructor(db: Database, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** Moves runs into history, or deletes them with their tries and lines where they are not kept. */
  async end(tx: Sql, endings: Ending[], now: number): Promise<void> {
    if (endings.length === 0) return;
    const isKept = ({ keep, uniqueUntil }: Ending) => keep !== 0 || (uniqueUntil ?? 0) > now;
    const kept = endings.filter(isKept);
    if (kept.length > 0) {
      const { values, rows, params } = spread(
        this.#db,
        ENDING,
        kept.map(({ id, state, startedAt, keep, uniqueUntil, error, fingerprint, result, child = null }) => {
          const keepUntil = keep === null ? null : Math.max(now + keep, uniqueUntil ?? 0);
          return [id, state, startedAt, now, keepUntil, error, fingerprint, result, child];
        }),
      );
      const copied = COPIED.map((column) => `r.${column}`).join(", ");
      // The one who ends it may be another than the one who had it.
      const child = `coalesce(${values.pop()}, r.child)`;
      await tx.run(
        `insert into ${this.#t.history} (${COPIED.join(", ")}, worker, ${Object.keys(ENDING).join(", ")})
         select ${copied}, r.locked_by, ${values.join(", ")}, ${child}
           from ${this.#db.lookUp(rows, this.#t.runs)}`,
        ...params,
      );
    }
    await this.#forget(
      tx,
      endings.filter((ending) => !isKept(ending)),
    );
    await this.#deleteAll(tx, this.#t.runs, "id", endings);
  }

  /** What cannot have left anything behind costs no statement. */
  async #forget(tx: Sql, forgotten: { id: number; attempts: number; logged: number }[]): Promise<void> {
    const tried = forgotten.filter(({ attempts }) => attempts > 1);
    await this.#deleteAll(tx, this.#t.attempts, "run_id", tried);
    const spoke = forgotten.filter(({ attempts, logged }) => attempts > 1 || logged > 0);
    await this.#deleteAll(tx, this.#t.logs, "run_id", spoke);
  }

  /**
   * The same for runs of which only the lease is known, in one statement, where the database has one for it; gives those
   * whose leases were held.
   */
  async endHeld(tx: Sql, endings: HeldEnding[], now: number): Promise<Ended[]> {
    if (endings.length === 0) return [];
    const { values, rows, params } = spread(
      this.#db,
      HELD_ENDING,
      endings
        .sort((a, b) => a.id - b.id)
        .map(({ id, token, state, startedAt, keep, error, fingerprint, result, child = null }) => [
          id,
          token,
          state,
          startedAt,
          now,
          keep,
          error,
          fingerprint,
          result,
          child,
        ]),
    );
    const text = this.#db.move!({
      from: this.#t.runs,
      to: this.#t.history,
      rows,
      given: Object.entries(HELD_ENDING).map(([name, type], index) => ({
        name,
        type,
        value: values[index]!,
      })),
      // Only what runs has a token. Asked for the state too, PostgreSQL goes through all that runs.
      where: "r.lease_token = v.token",
      columns: {
        ...Object.fromEntries(COPIED.map((column) => [column, `r.${column}`])),
        worker: "r.locked_by",
        id: "r.id",
        state: "v.state",
        started_at: "v.started_at",
        finished_at: "v.now",
        keep_until:
          "case when v.keep is not null then greatest(v.now + v.keep, coalesce(r.unique_until, 0)) end",
        error: "v.error",
        fingerprint: "v.fingerprint",
        result: "v.result",
        child: "coalesce(v.child, r.child)",
      },
      besides: { token: "v.token", logged: "r.logged", kept: KEPT },
      when: "kept = 1",
      told: ["id", "token", "name", "lane", "queue", "limited", "attempts", "logged", "kept"],
    });
    const ended = await tx.all<Ended>(text, ...params);
    const before = new Map(endings.map(({ id, logged }) => [id, logged]));
    await this.#forget(
      tx,
      ended
        .filter(({ kept }) => kept === 0)
        .map((one) => ({ ...one, logged: one.logged + before.get(one.id)! })),
    );
    return ended;
  }

  async #deleteAll(tx: Sql, table: string, column: string, runs: { id: number }[]): Promise<void> {
    if (runs.length === 0) return;
    await tx.run(
      this.#db.deleteFrom(table, column, this.#db.rows({ id: "integer" })),
      JSON.stringify(runs.map(({ id }) => [id])),
    );
  }
}
