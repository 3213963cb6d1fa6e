import { outcomeRules, stateCodes } from "../../run/states.ts";
import type { Lease, Renewal, Settlement } from "../store.ts";
import type { ColumnType, Database, Sql, Tables } from "./database.ts";
import { spread } from "./spread.ts";

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
};

/** A run whose lease is held, as the one who writes about it found it. */
interface Held {
  id: number;
  token: string;
  attempts: number;
  unique_until: number | null;
}

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
}

/** A try that is written down. */
export interface Tried {
  id: number;
  outcome: "retried" | "failed" | "crashed";
  startedAt: number;
  error: string | null;
  fingerprint: string | null;
}

export interface Renewed {
  held: Set<number>;
  /** Those that somebody has locked: settled, taken back or about to be cancelled. */
  locked: Renewal[];
}

/** Everything that is written about a run by the worker that holds it, in the transaction given. */
export class Settler {
  readonly #db: Database;
  readonly #t: Tables;

  constructor(db: Database, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** In the order given: true where the lease was held. */
  async settleAll(tx: Sql, settlements: Settlement[], now: number): Promise<boolean[]> {
    const held = await this.#held(tx, settlements, this.#db.forUpdate);
    const told = new Set<number>();
    const mine = settlements.filter(({ id, token }) => {
      if (held.get(id)?.token !== token || told.has(id)) return false;
      told.add(id);
      return true;
    });
    const forgets = ({ id, keep, outcome }: Settlement) =>
      outcomeRules[outcome].to !== "waiting" && keep === 0 && !((held.get(id)!.unique_until ?? 0) > now);
    const tried = mine
      .filter((one) => outcomeRules[one.outcome].recorded && !forgets(one))
      .map((one) => ({ ...one, outcome: one.outcome as Tried["outcome"], startedAt: now - one.duration }));
    await this.record(tx, tried, now);
    const waiting = mine.filter(({ outcome }) => outcomeRules[outcome].to === "waiting");
    await this.putBack(
      tx,
      waiting.map(({ id, delay, outcome }) => ({ id, delay, counts: outcomeRules[outcome].counts })),
      now,
    );
    const endings = mine.flatMap(({ outcome, duration, ...one }): Ending[] => {
      const { to } = outcomeRules[outcome];
      if (to === "waiting") return [];
      const { unique_until: uniqueUntil, attempts } = held.get(one.id)!;
      // From the duration, so that both ends of it are the database's time.
      return [{ ...one, state: stateCodes[to], startedAt: now - duration, uniqueUntil, attempts }];
    });
    await this.end(tx, endings, now);
    const settled = new Set(mine);
    return settlements.map((one) => settled.has(one));
  }

  async #held(tx: Sql, leases: Lease[], lock: string): Promise<Map<number, Held>> {
    const rows = await tx.all<Held>(
      `select r.id, r.lease_token as token, r.attempts, r.unique_until
         from ${this.#db.rows({ id: "integer" })} v join ${this.#t.runs} r on r.id = v.id
        where r.state = 2${lock && ` order by r.id${this.#db.lockOnly(lock, "r")}`}`,
      JSON.stringify(leases.map(({ id }) => [id])),
    );
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Moves runs into history, or deletes them with their tries where they are not kept. */
  async end(tx: Sql, endings: Ending[], now: number): Promise<void> {
    if (endings.length === 0) return;
    const isKept = ({ keep, uniqueUntil }: Ending) => keep !== 0 || (uniqueUntil ?? 0) > now;
    const kept = endings.filter(isKept);
    if (kept.length > 0) {
      const { values, rows, params } = spread(
        this.#db,
        ENDING,
        kept.map(({ id, state, startedAt, keep, uniqueUntil, error, fingerprint, result }) => {
          const keepUntil = keep === null ? null : Math.max(now + keep, uniqueUntil ?? 0);
          return [id, state, startedAt, now, keepUntil, error, fingerprint, result];
        }),
      );
      const copied = COPIED.map((column) => `r.${column}`).join(", ");
      await tx.run(
        `insert into ${this.#t.history} (${COPIED.join(", ")}, worker, ${Object.keys(ENDING).join(", ")})
         select ${copied}, r.locked_by, ${values.join(", ")}
           from ${rows} v join ${this.#t.runs} r on r.id = v.id`,
        ...params,
      );
    }
    const forgotten = endings.filter((ending) => !isKept(ending) && ending.attempts > 1);
    await this.#deleteAll(tx, this.#t.attempts, "run_id", forgotten);
    await this.#deleteAll(tx, this.#t.runs, "id", endings);
  }

  async #deleteAll(tx: Sql, table: string, column: string, runs: { id: number }[]): Promise<void> {
    if (runs.length === 0) return;
    await tx.run(
      this.#db.deleteFrom(table, column, this.#db.rows({ id: "integer" })),
      JSON.stringify(runs.map(({ id }) => [id])),
    );
  }

  async putBack(tx: Sql, runs: { id: number; delay: number; counts: boolean }[], now: number): Promise<void> {
    if (runs.length === 0) return;
    await tx.run(
      this.#db.updateFrom(
        this.#t.runs,
        {
          state: "v.to_state",
          run_at: "coalesce(v.due, r.run_at)",
          attempts: "r.attempts - v.given_back",
          lease_token: "null",
          locked_by: "null",
          locked_until: "null",
          started_at: "null",
        },
        this.#db.rows({ id: "integer", to_state: "integer", due: "integer", given_back: "integer" }),
      ),
      JSON.stringify(
        runs.map(({ id, delay, counts }) => [
          id,
          delay > 0 ? stateCodes.scheduled : stateCodes.ready,
          delay > 0 ? now + delay : null,
          counts ? 0 : 1,
        ]),
      ),
    );
  }

  async record(tx: Sql, tried: Tried[], now: number): Promise<void> {
    if (tried.length === 0) return;
    const rows = this.#db.rows({
      id: "integer",
      outcome: "text",
      started_at: "integer",
      finished_at: "integer",
      error: "text",
      fingerprint: "text",
    });
    await tx.run(
      `insert into ${this.#t.attempts} (run_id, attempt, outcome, worker, started_at, finished_at, error, fingerprint)
       select r.id, r.attempts, v.outcome, r.locked_by, v.started_at, v.finished_at, v.error, v.fingerprint
         from ${rows} v join ${this.#t.runs} r on r.id = v.id`,
      JSON.stringify(
        tried.map(({ id, outcome, startedAt, error, fingerprint }) => [
          id,
          outcome,
          startedAt,
          now,
          error,
          fingerprint,
        ]),
      ),
    );
  }

  /** Marks runs as started that are still held. */
  async startAll(tx: Sql, leases: Lease[], now: number): Promise<void> {
    if (leases.length === 0) return;
    await tx.run(
      this.#db.updateFrom(
        this.#t.runs,
        { started_at: "coalesce(r.started_at, v.started)" },
        this.#db.rows({ id: "integer", token: "text", started: "integer" }),
        "r.state = 2 and r.lease_token = v.token",
      ),
      JSON.stringify(leases.map(({ id, token }) => [id, token, now])),
    );
  }

  /** One column of one run, if its lease is held. */
  async write(
    tx: Sql,
    { id, token }: Lease,
    column: "started_at" | "progress",
    value: string | number,
  ): Promise<boolean> {
    const held = await this.#held(tx, [{ id, token }], this.#db.forUpdate);
    if (held.get(id)?.token !== token) return false;
    const to = column === "started_at" ? "coalesce(started_at, ?)" : "?";
    await tx.run(`update ${this.#t.runs} set ${column} = ${to} where id = ?`, value, id);
    return true;
  }

  /** Never waits for a lock: a settle of the same process holds its rows and may want others. */
  async renew(tx: Sql, renewals: Renewal[], now: number): Promise<Renewed> {
    const standing = (rows: Map<number, Held>) =>
      renewals.filter(({ id, token }) => rows.get(id)?.token === token);
    const free = standing(await this.#held(tx, renewals, this.#db.skipLocked));
    if (free.length > 0) {
      await tx.run(
        this.#db.updateFrom(
          this.#t.runs,
          { locked_until: "v.until" },
          this.#db.rows({ id: "integer", until: "integer" }),
        ),
        JSON.stringify(free.map(({ id, lease }) => [id, now + lease])),
      );
    }
    const held = new Set(free.map(({ id }) => id));
    if (free.length === renewals.length || this.#db.skipLocked === "") return { held, locked: [] };
    const seen = standing(await this.#held(tx, renewals, ""));
    return { held, locked: seen.filter(({ id }) => !held.has(id)) };
  }

  async cancelledOf(sql: Sql, worker: string): Promise<number[]> {
    const rows = await sql.all<{ id: number }>(cancelledOf(this.#t), worker);
    return rows.map((row) => row.id);
  }
}

/** The ids of runs of one worker that somebody asked to cancel. */
export function cancelledOf(t: Tables): string {
  return `select id from ${t.runs} where state = 2 and cancelled_at is not null and locked_by = ?`;
}
