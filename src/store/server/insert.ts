import { PunctualError } from "../../errors.ts";
import {
  forGroups,
  marks,
  type ServerDatabase,
  type Sql,
  type Statement,
  type Tables,
} from "../sql/database.ts";
import { limitedNow } from "../sql/limit-hint.ts";
import { insertion, NEW_RUN, toValues, UNIQUE_SCOPE } from "../sql/new-run.ts";
import type { InsertResult, NewRun } from "../store.ts";

/** A run and the id that was reserved for it. */
export interface Numbered {
  id: number;
  run: NewRun;
  /** Its column, where it was read before the insert. */
  limited?: number;
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

  /**
   * Inserts runs and returns, in the order given, which run holds each one's place. `committed` reads what others have
   * committed by now, which a caller's transaction may not see.
   */
  async insert(tx: Sql, wanted: Numbered[], now: number, committed: Sql = tx): Promise<InsertResult[]> {
    const isCallers = committed !== tx;
    const runs = isCallers && this.#db.insertsLock ? await this.#withLimits(committed, wanted) : wanted;
    await this.#insertAll(
      tx,
      runs.filter(({ run }) => run.unique === null),
      now,
    );
    return inOrder(runs, await this.#insertKeyed(tx, committed, firstOfKeys(runs), now));
  }

  /**
   * What came of an insert that was committed. Of a key that nobody holds any more it can no longer be told who held it:
   * it is taken for one's own.
   */
  async recall(tx: Sql, runs: Numbered[], now: number): Promise<InsertResult[]> {
    const byKey = firstOfKeys(runs);
    const holders = new Map([...byKey].map(([key, { id }]) => [key, id]));
    const gone = new Set(byKey.keys());
    const left = await this.#whichExist(tx, [...holders.values()]);
    for (const [key, id] of holders) if (left.has(id)) gone.delete(key);
    if (gone.size > 0) {
      const { finished, waiting } = await this.#look(tx, tx, [...gone], now, "");
      for (const [key, id] of finished) holders.set(key, id);
      for (const [key, { id, isExpired }] of waiting) if (!isExpired) holders.set(key, id);
    }
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

  /** Asked in a plain read: as part of the insert it would lock the rows of jobs and queues until the caller commits. */
  async #withLimits(sql: Sql, runs: Numbered[]): Promise<Numbered[]> {
    const keyOf = (name: string, queue: string) => JSON.stringify([name, queue]);
    const places = new Set(runs.map(({ run }) => keyOf(run.name, run.queue)));
    const rows = await sql.all<{ name: string; queue: string; limited: number }>(
      `select v.name, v.queue, ${limitedNow(this.#t, { name: "v.name", queue: "v.queue" })} as limited
         from ${this.#db.rows({ name: "text", queue: "text" })} v`,
      `[${[...places].join(", ")}]`,
    );
    const limits = new Map(rows.map(({ name, queue, limited }) => [keyOf(name, queue), limited]));
    return runs.map(({ id, run }) => {
      const limited = run.owner === null ? limits.get(keyOf(run.name, run.queue))! : 0;
      return { id, run, limited };
    });
  }

  async #insertAll(tx: Sql, runs: Numbered[], now: number): Promise<void> {
    if (runs.length === 0) return;
    const { text, params } = this.statement(runs, now);
    // Its answer is waited for: a key may be held, or an id taken.
    await tx.all(text, ...params);
  }

  /** Of runs without unique keys, or of those whose keys are free. */
  statement(runs: Numbered[], now: number): Statement {
    const isKnown = runs[0]!.limited !== undefined;
    const columns = { id: "integer", ...NEW_RUN, ...(isKnown && { limited: "integer" as const }) } as const;
    const rows = runs.map(({ id, run, limited }) => [
      id,
      ...toValues(run, now),
      ...(limited === undefined ? [] : [limited]),
    ]);
    const { text, params } = insertion(this.#db, this.#t, columns, rows);
    // Rows without a key do not depend on the unique index: doctor can restore it while others dispatch.
    const hasKeys = runs.some(({ run }) => run.unique !== null);
    return { text: hasKeys ? `${text}${this.#db.unlessKeyHeld}` : text, params };
  }

  /**
   * Inserts runs with unique keys, and returns the holder of each key. In order of key: two transactions that insert
   * the same keys must not deadlock.
   */
  async #insertKeyed(
    tx: Sql,
    committed: Sql,
    byKey: Map<string, Numbered>,
    now: number,
  ): Promise<Map<string, number>> {
    const holders = new Map<string, number>();
    let open = [...byKey.keys()].sort();
    for (let tries = 0; open.length > 0; tries++) {
      if (tries === TRIES) {
        throw new PunctualError(
          "DATABASE_BUSY",
          `The unique key ${JSON.stringify(open[0])} was taken and freed by others ${TRIES} times in a row. Try again.`,
        );
      }
      // A plain read in a caller's transaction may show what was there when it began.
      const lock = tries === 0 ? "" : this.#db.forUpdate;
      const before = await this.#look(tx, committed, open, now, lock);
      await this.#freeExpired(tx, before, now);
      await this.#insertFree(
        tx,
        open.filter((key) => !holderIn(before, key)).map((key) => byKey.get(key)!),
        now,
      );
      // From here on nobody else can insert these keys. A run that finished since the look above is in history by now.
      const after = await this.#look(tx, committed, open, now, lock);
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

  async #insertFree(tx: Sql, free: Numbered[], now: number): Promise<void> {
    if (free.length === 0) return;
    try {
      await this.#insertAll(tx, free, now);
    } catch (error) {
      if (!this.#db.isKeyHeld(error)) throw error;
      // Somebody was faster with one of them: the statement did nothing, so they go one by one.
      if (free.length > 1) for (const one of free) await this.#insertFree(tx, [one], now);
    }
  }

  /** A window that has ended holds nothing any more. */
  async #freeExpired(tx: Sql, { waiting }: Look, now: number): Promise<void> {
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

  async #look(tx: Sql, committed: Sql, keys: string[], now: number, lock: string): Promise<Look> {
    const readWaiting = () =>
      forGroups(keys, (group) =>
        tx.all<{ unique_key: string; id: number; unique_scope: number; unique_until: number | null }>(
          `select unique_key, id, unique_scope, unique_until from ${this.#t.runs}${this.#db.using(this.#t.runs, "unique")} where unique_key in (${marks(group)})${lock}`,
          ...group,
        ),
      );
    const readFinished = () =>
      forGroups(keys, (group) =>
        committed.all<{ unique_key: string; id: number }>(
          `select unique_key, id from ${this.#t.history}${this.#db.using(this.#t.history, "unique")} where unique_key in (${marks(group)}) and unique_until > ? order by unique_until`,
          ...group,
          now,
        ),
      );
    // A connection of the caller's takes one statement at a time.
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

/** The runs that have some unique keys. */
interface Look {
  /** `isExpired`: it has started, and its window has ended. */
  waiting: Map<string, { id: number; isExpired: boolean }>;
  /** Finished runs whose windows still hold their keys. */
  finished: Map<string, number>;
}

function holderIn({ waiting, finished }: Look, key: string): number | undefined {
  const run = waiting.get(key);
  return run && !run.isExpired ? run.id : finished.get(key);
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

function inOrder(runs: Numbered[], holders: Map<string, number>): InsertResult[] {
  return runs.map(({ id, run }) => {
    const holder = run.unique === null ? id : holders.get(run.unique.key)!;
    return { id: holder, inserted: holder === id };
  });
}
