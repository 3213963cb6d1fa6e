import { PunctualError } from "../../errors.ts";
import { marks, type ServerDatabase, type Sql, type Statement, type Tables } from "../sql/database.ts";
import { NEW_RUN, toValues } from "../sql/new-run.ts";
import { spread } from "../sql/spread.ts";
import { WINDOW } from "../sql/unique.ts";
import type { Inserted, NewRun } from "../store.ts";

/** A run and the id that was reserved for it. */
export interface Numbered {
  id: number;
  run: NewRun;
}

/** A key that others take and free all the time is tried for so often. */
const TRIES = 20;

export class Inserter {
  readonly #db: ServerDatabase;
  readonly #t: Tables;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** In the order given. */
  async insert(tx: Sql, runs: Numbered[], now: number): Promise<Inserted[]> {
    await this.#insertAll(
      tx,
      runs.filter(({ run }) => run.unique === null),
      now,
    );
    return inOrder(runs, await this.#insertKeyed(tx, firstOfKeys(runs), now));
  }

  /**
   * What came of an insert that was committed. Of a key that nobody holds any more it can no longer be told who held it:
   * it is taken for one's own.
   */
  async recall(tx: Sql, runs: Numbered[], now: number): Promise<Inserted[]> {
    const byKey = firstOfKeys(runs);
    const holders = new Map([...byKey].map(([key, { id }]) => [key, id]));
    const gone = new Set(byKey.keys());
    const left = await this.#whichExist(tx, [...holders.values()]);
    for (const [key, id] of holders) if (left.has(id)) gone.delete(key);
    if (gone.size > 0)
      for (const [key, id] of await this.#holders(tx, [...gone], now, "")) holders.set(key, id);
    return inOrder(runs, holders);
  }

  async #whichExist(tx: Sql, ids: number[]): Promise<Set<number>> {
    if (ids.length === 0) return new Set();
    const list = JSON.stringify(ids.map((id) => [id]));
    const found = await tx.all<{ id: number }>(
      [this.#t.runs, this.#t.history]
        .map((table) => `select r.id from ${this.#db.lookUp(this.#db.rows({ id: "integer" }), table)}`)
        .join(" union all "),
      list,
      list,
    );
    return new Set(found.map(({ id }) => id));
  }

  async #insertAll(tx: Sql, runs: Numbered[], now: number): Promise<void> {
    if (runs.length === 0) return;
    const { text, params } = this.statement(runs, now);
    // Its answer is waited for: it may be that another has a key.
    await tx.all(text, ...params);
  }

  /** Of runs without unique keys, or of those whose keys are free. */
  statement(runs: Numbered[], now: number): Statement {
    const columns = { id: "integer", ...NEW_RUN } as const;
    const { values, rows, params } = spread(
      this.#db,
      columns,
      runs.map(({ id, run }) => [id, ...toValues(run, now)]),
    );
    return {
      text: `insert into ${this.#t.runs} (${Object.keys(columns).join(", ")}) select ${values.join(", ")} from ${rows} v${this.#db.orNothing}`,
      params,
    };
  }

  /** Who holds each key in the end. In order of key: two that insert the same ones must not wait for each other crosswise. */
  async #insertKeyed(tx: Sql, byKey: Map<string, Numbered>, now: number): Promise<Map<string, number>> {
    const holders = new Map<string, number>();
    let open = [...byKey.keys()].sort();
    for (let tries = 0; open.length > 0; tries++) {
      if (tries === TRIES) {
        throw new PunctualError(
          "DATABASE_BUSY",
          `The unique key ${JSON.stringify(open[0])} was taken and freed by others ${TRIES} times in a row. Try again.`,
        );
      }
      await this.#freeExpired(tx, open, now);
      // A plain read in a caller's transaction may show what was there when it began.
      const lock = tries === 0 ? "" : this.#db.forUpdate;
      for (const [key, id] of await this.#holders(tx, open, now, lock)) holders.set(key, id);
      const free = open.map((key) => byKey.get(key)!).filter(({ run }) => !holders.has(run.unique!.key));
      await this.#insertFree(tx, free, now);
      for (const [key, id] of await this.#holders(tx, open, now, lock)) holders.set(key, id);
      open = open.filter((key) => !holders.has(key));
    }
    return holders;
  }

  async #insertFree(tx: Sql, free: Numbered[], now: number): Promise<void> {
    if (free.length === 0) return;
    try {
      await this.#insertAll(tx, free, now);
    } catch (error) {
      if (!this.#db.isDuplicate(error)) throw error;
      // Somebody was faster with one of them: the statement did nothing, so they go one by one.
      if (free.length > 1) for (const one of free) await this.#insertFree(tx, [one], now);
    }
  }

  /** A window that has ended holds nothing any more. */
  async #freeExpired(tx: Sql, keys: string[], now: number): Promise<void> {
    const expired = await tx.all<{ id: number }>(
      `select id from ${this.#t.runs}${this.#db.using(this.#t.runs, "unique")} where unique_key in (${marks(keys)}) and unique_scope = ${WINDOW} and unique_until <= ?`,
      ...keys,
      now,
    );
    for (const { id } of expired) {
      await tx.run(
        `update ${this.#t.runs} set unique_key = null where id = ? and unique_scope = ${WINDOW} and unique_until <= ?`,
        id,
        now,
      );
    }
  }

  async #holders(tx: Sql, keys: string[], now: number, lock: string): Promise<Map<string, number>> {
    const finished = await tx.all<{ unique_key: string; id: number }>(
      `select unique_key, id from ${this.#t.history}${this.#db.using(this.#t.history, "unique")} where unique_key in (${marks(keys)}) and unique_until > ? order by unique_until`,
      ...keys,
      now,
    );
    const waiting = await tx.all<{ unique_key: string; id: number }>(
      `select unique_key, id from ${this.#t.runs}${this.#db.using(this.#t.runs, "unique")} where unique_key in (${marks(keys)})${lock}`,
      ...keys,
    );
    return new Map([...finished, ...waiting].map(({ unique_key, id }) => [unique_key, id]));
  }
}

/** Of several with one key the first counts; the others find it. */
function firstOfKeys(runs: Numbered[]): Map<string, Numbered> {
  const byKey = new Map<string, Numbered>();
  for (const one of runs) {
    const key = one.run.unique?.key;
    if (key !== undefined && !byKey.has(key)) byKey.set(key, one);
  }
  return byKey;
}

function inOrder(runs: Numbered[], holders: Map<string, number>): Inserted[] {
  return runs.map(({ id, run }) => {
    const holder = run.unique === null ? id : holders.get(run.unique.key)!;
    return { id: holder, inserted: holder === id };
  });
}
