import { PunctualError } from "../../errors.ts";
import {
  type ColumnType,
  forGroups,
  placeholders,
  type ServerDatabase,
  type Sql,
  type Statement,
  type Tables,
} from "../sql/database.ts";
import { limitHint } from "../sql/limit-hint.ts";
import { insertion, NEW_RUN, toValues, UNIQUE_SCOPE } from "../sql/new-run.ts";
import type { InsertResult, NewRun } from "../store.ts";

/** A run and the id that was reserved for it. */
export interface NumberedRun {
  id: number;
  run: NewRun;
  /** The limit hint; absent: the insert computes it. */
  limited?: number;
}

const COLUMNS: Record<string, ColumnType> = { id: "integer", ...NEW_RUN };
const COLUMNS_WITH_HINT: Record<string, ColumnType> = { ...COLUMNS, limited: "integer" };

/** Tries for a unique key that others take and free all the time. */
const KEY_TRIES = 20;

/** Inserts runs, each once for its unique key (note 10). */
export class Inserter {
  readonly #db: ServerDatabase;
  readonly #t: Tables;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /**
   * Inserts runs and returns a result for each, in order: its own id, or the id of the run that holds its unique key.
   * `committed` reads rows that others have committed by now; a caller's transaction may not see them.
   */
  async insert(tx: Sql, wanted: NumberedRun[], now: number, committed: Sql = tx): Promise<InsertResult[]> {
    const isCallers = committed !== tx;
    const runs = isCallers && this.#db.insertsLock ? await this.#withLimitHints(committed, wanted) : wanted;
    await this.#insertAll(
      tx,
      runs.filter(({ run }) => run.unique === null),
      now,
    );
    return toResults(runs, await this.#insertKeyed(tx, committed, firstOfKeys(runs), now));
  }

  /**
   * Returns the results of an insert that was committed and whose answer was lost. If no run holds a key any more, its
   * former holder is unknown: the result names the run of this insert.
   */
  async recall(tx: Sql, runs: NumberedRun[], now: number): Promise<InsertResult[]> {
    const byKey = firstOfKeys(runs);
    const holders = new Map([...byKey].map(([key, { id }]) => [key, id]));
    const gone = new Set(byKey.keys());
    const existing = await this.#whichExist(tx, [...holders.values()]);
    for (const [key, id] of holders) if (existing.has(id)) gone.delete(key);
    if (gone.size > 0) {
      const { finished, waiting } = await this.#readHolders(tx, [...gone], now);
      for (const [key, id] of finished) holders.set(key, id);
      for (const [key, { id, isExpired }] of waiting) if (!isExpired) holders.set(key, id);
    }
    return toResults(runs, holders);
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

  /** Reads the limit hints: as part of the insert, this would lock rows of jobs and queues until the caller commits. */
  async #withLimitHints(sql: Sql, runs: NumberedRun[]): Promise<NumberedRun[]> {
    const keyOf = (name: string, queue: string) => JSON.stringify([name, queue]);
    const pairs = new Set(runs.map(({ run }) => keyOf(run.name, run.queue)));
    const rows = await sql.all<{ name: string; queue: string; limited: number }>(
      `select v.name, v.queue, ${limitHint(this.#t, { name: "v.name", queue: "v.queue" })} as limited
         from ${this.#db.rows({ name: "text", queue: "text" })} v`,
      `[${[...pairs].join(", ")}]`,
    );
    const limits = new Map(rows.map(({ name, queue, limited }) => [keyOf(name, queue), limited]));
    return runs.map(({ id, run }) => {
      const limited = run.owner === null ? limits.get(keyOf(run.name, run.queue))! : 0;
      return { id, run, limited };
    });
  }

  async #insertAll(tx: Sql, runs: NumberedRun[], now: number): Promise<void> {
    if (runs.length === 0) return;
    const { text, params } = this.statement(runs, now);
    // `all`, because the answer is needed: a key may be held, or an id taken.
    await tx.all(text, ...params);
  }

  /** Returns the insert of runs that have no unique keys, or whose keys are free. */
  statement(runs: NumberedRun[], now: number): Statement {
    const columns = runs[0]!.limited === undefined ? COLUMNS : COLUMNS_WITH_HINT;
    const rows = runs.map(({ id, run, limited }) => [
      id,
      ...toValues(run, now),
      ...(limited === undefined ? [] : [limited]),
    ]);
    const { text, params } = insertion(this.#db, this.#t, columns, rows);
    // An insert without keys works without the unique index: doctor can restore that index while others dispatch.
    const hasKeys = runs.some(({ run }) => run.unique !== null);
    return { text: hasKeys ? `${text}${this.#db.unlessKeyHeld}` : text, params };
  }

  /**
   * Inserts runs with unique keys and returns the holder of each key. It inserts in order of key, so that two
   * transactions that insert the same keys do not deadlock.
   */
  async #insertKeyed(
    tx: Sql,
    committed: Sql,
    byKey: Map<string, NumberedRun>,
    now: number,
  ): Promise<Map<string, number>> {
    const holders = new Map<string, number>();
    let open = [...byKey.keys()].sort();
    for (let tries = 0; open.length > 0; tries++) {
      if (tries === KEY_TRIES) {
        throw new PunctualError(
          "DATABASE_BUSY",
          `Other processes took and freed the unique key ${JSON.stringify(open[0])} ${KEY_TRIES} times in a row. Try again.`,
        );
      }
      // In a caller's transaction, a read without a lock may return rows as they were when the transaction began.
      const lock = tries === 0 ? "" : this.#db.forUpdate;
      const before = await this.#readHolders(tx, open, now, { committed, lock });
      await this.#freeExpired(tx, before, now);
      await this.#insertFree(
        tx,
        open.filter((key) => !holderIn(before, key)).map((key) => byKey.get(key)!),
        now,
      );
      // Nobody else can insert these keys from here on. A run that finished since the first read is in history by now.
      const after = await this.#readHolders(tx, open, now, { committed, lock });
      for (const key of open) {
        const { id } = byKey.get(key)!;
        const isOurs = after.waiting.get(key)?.id === id;
        const finished = after.finished.get(key);
        if (isOurs && finished !== undefined) await this.#withdraw(tx, id);
        const holder = isOurs ? (finished ?? id) : holderIn(after, key);
        if (holder !== undefined) holders.set(key, holder);
      }
      open = open.filter((key) => !holders.has(key));
    }
    return holders;
  }

  async #insertFree(tx: Sql, free: NumberedRun[], now: number): Promise<void> {
    if (free.length === 0) return;
    try {
      await this.#insertAll(tx, free, now);
    } catch (error) {
      if (!this.#db.isKeyHeld(error)) throw error;
      // Another process has inserted one of the keys, so the statement did nothing: insert the runs one by one.
      if (free.length > 1) for (const one of free) await this.#insertFree(tx, [one], now);
    }
  }

  /** Frees keys whose windows have ended. */
  async #freeExpired(tx: Sql, { waiting }: KeyHolders, now: number): Promise<void> {
    for (const { id, isExpired } of waiting.values()) {
      if (!isExpired) continue;
      await tx.run(
        `update ${this.#t.runs} set unique_key = null where id = ? and unique_scope = ${UNIQUE_SCOPE.window} and unique_until <= ?`,
        id,
        now,
      );
    }
  }

  async #withdraw(tx: Sql, id: number): Promise<void> {
    await tx.run(`delete from ${this.#t.runs} where id = ?`, id);
  }

  /** Reads the holders of keys: those in history through `committed`, the others with `lock`. */
  async #readHolders(
    tx: Sql,
    keys: string[],
    now: number,
    { committed = tx, lock = "" }: { committed?: Sql; lock?: string } = {},
  ): Promise<KeyHolders> {
    const readWaiting = () =>
      forGroups(keys, (group) =>
        tx.all<{ unique_key: string; id: number; unique_scope: number; unique_until: number | null }>(
          `select unique_key, id, unique_scope, unique_until from ${this.#t.runs}${this.#db.using(this.#t.runs, "unique")} where unique_key in (${placeholders(group)})${lock}`,
          ...group,
        ),
      );
    const readFinished = () =>
      forGroups(keys, (group) =>
        committed.all<{ unique_key: string; id: number }>(
          `select unique_key, id from ${this.#t.history}${this.#db.using(this.#t.history, "unique")} where unique_key in (${placeholders(group)}) and unique_until > ? order by unique_until`,
          ...group,
          now,
        ),
      );
    // A caller's connection takes one statement at a time.
    const [waiting, finished] =
      committed === tx
        ? await Promise.all([readWaiting(), readFinished()])
        : [await readWaiting(), await readFinished()];
    const isExpired = (scope: number, until: number | null) =>
      scope === UNIQUE_SCOPE.window && (until ?? 0) <= now;
    return {
      waiting: new Map(
        waiting.map(({ unique_key, id, unique_scope, unique_until }) => [
          unique_key,
          { id, isExpired: isExpired(unique_scope, unique_until) },
        ]),
      ),
      finished: new Map(finished.map(({ unique_key, id }) => [unique_key, id])),
    };
  }
}

/** The runs that hold unique keys, by key. */
interface KeyHolders {
  /** Unfinished runs. `isExpired`: the run has started and the window of its key has ended. */
  waiting: Map<string, { id: number; isExpired: boolean }>;
  /** Finished runs whose windows still hold their keys. */
  finished: Map<string, number>;
}

function holderIn({ waiting, finished }: KeyHolders, key: string): number | undefined {
  const run = waiting.get(key);
  return run && !run.isExpired ? run.id : finished.get(key);
}

/** Returns the first run of each unique key. Later runs of the key get its id. */
function firstOfKeys(runs: NumberedRun[]): Map<string, NumberedRun> {
  const byKey = new Map<string, NumberedRun>();
  for (const one of runs) {
    const key = one.run.unique?.key;
    if (key !== undefined && !byKey.has(key)) byKey.set(key, one);
  }
  return byKey;
}

function toResults(runs: NumberedRun[], holders: Map<string, number>): InsertResult[] {
  return runs.map(({ id, run }) => {
    const holder = run.unique === null ? id : holders.get(run.unique.key)!;
    return { id: holder, inserted: holder === id };
  });
}
