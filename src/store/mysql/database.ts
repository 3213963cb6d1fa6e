import { createHash } from "node:crypto";
import { PunctualError } from "../../errors.ts";
import type { MissingObject } from "../maintenance.ts";
import { Pending } from "../pending.ts";
import { BETWEEN_INSTALLS, tablesInUse } from "../server/installing.ts";
import { takeSpare } from "../server/spare.ts";
import type {
  ColumnType,
  Param,
  ServerDatabase,
  Sql,
  Statement,
  Tables,
  Transaction,
  TransactionOptions,
} from "../sql/database.ts";
import { stretch } from "../sql/dialect.ts";
import { PATIENCE, type Patience, patiently, Try } from "../sql/patience.ts";
import type { Connections, Held } from "./connections.ts";
import * as dialect from "./dialect.ts";
import { isConflict, isIdTaken, isKeyHeld, isLockTimeout, isLost, isMistake, translate } from "./errors.ts";
import { endingWith, RESERVE, reserveIds } from "./ids.ts";
import { isOurs, query, querySeveral, rowsOf, sqlOn } from "./query.ts";
import { Conversation, LONGEST } from "./transaction.ts";

/** A server that was never reached is more likely not there. */
const FIRST_PATIENCE = 5000;

/**
 * How long a migration waits for a table, in seconds: while it waits, every dispatch waits behind it. Then it gives up
 * its place in line, and tries again when the others are through.
 */
const LOCK_BRIEFLY = 1;

/** How long an installer waits for another, in seconds. */
const INSTALLING = 60;

/** MySQL from version 8.0 on, and MariaDB from 10.6 on. */
export class MysqlDatabase implements ServerDatabase {
  readonly forUpdate = " for update";
  readonly skipLocked = " for update skip locked";
  readonly text = "?";
  readonly tagged = "json_contains(tags, json_quote(?))";
  readonly key = "substr(lane, char_length(name) + 2)";
  readonly like: typeof dialect.like = dialect.like;
  readonly pattern: typeof dialect.pattern = dialect.pattern;
  readonly scalar: typeof dialect.scalar = dialect.scalar;
  /**
   * Whatever the session's time zone is. A caller may have set another time for the session (`set timestamp`), which
   * only `sysdate()` does not follow.
   */
  readonly clock =
    "select (timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) + timestampdiff(microsecond, now(6), sysdate(6))) div 1000 as now";
  readonly insertsLock = true;
  readonly unlessKeyHeld = "";
  readonly isKeyHeld: (error: unknown) => boolean = isKeyHeld;
  readonly isIdTaken: (error: unknown) => boolean = isIdTaken;
  readonly upsert: typeof dialect.upsert = dialect.upsert;
  readonly move = null;
  readonly lookUp: typeof dialect.lookUp = dialect.lookUp;
  readonly updateFrom: typeof dialect.updateFrom = dialect.updateFrom;
  readonly deleteFrom: typeof dialect.deleteFrom = dialect.deleteFrom;
  readonly stretch: typeof stretch = stretch;
  readonly using: typeof dialect.using = dialect.using;
  readonly readyQueues: typeof dialect.readyQueues = dialect.readyQueues;
  readonly readyLanes: typeof dialect.readyLanes = dialect.readyLanes;
  readonly #connections: Connections;
  readonly #pending: Pending;
  readonly #working = new Set<Promise<unknown>>();
  #name: dialect.Server | null = null;
  #closed = false;
  #losses = 0;

  constructor(connections: Connections, pending: Pending = new Pending()) {
    this.#connections = connections;
    this.#pending = pending;
  }

  /** Known once the server has been asked. */
  get name(): dialect.Server {
    return this.#name!;
  }

  /** MySQL refuses to lock a table made of a parameter, and MariaDB does not know how to leave it out. */
  lockOnly(lock: string, alias: string): string {
    return this.name === "mysql" ? lock.replace(" for update", ` for update of ${alias}`) : lock;
  }

  rows(columns: Record<string, ColumnType>): string {
    return dialect.rows(this.name, columns);
  }

  all<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.#patiently(() =>
      this.#holding(async ({ connection }) => rowsOf<Row>(await query(connection, text, params)), text),
    );
  }

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.all(text, ...params);
  }

  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    { retry = true, first }: TransactionOptions = {},
  ): Promise<Result> {
    const state = new Try();
    return this.#patiently(
      () => {
        state.begin();
        return this.#holding((held) => this.#inside(held, state, work, { ours: retry, first }));
      },
      () => retry || !state.entered,
      !retry,
    );
  }

  async both(one: Statement, other: Statement, again: (tx: Transaction) => Promise<void>): Promise<void> {
    if (!this.#connections.takesSeveral || dialect.lengthOf(other) > LONGEST) {
      let isSent = false;
      return this.transaction(async (tx) => {
        if (isSent) return again(tx);
        isSent = true;
        for (const { text, params } of [one, other]) await tx.run(text, ...params);
      });
    }
    const packet = ["start transaction", dialect.literally(one), dialect.literally(other), "commit"];
    try {
      const send = (held: Held) => this.#orRollBack(held, () => querySeveral(held.connection, packet));
      await this.#pending.wait(() => this.#holding(send));
    } catch (error) {
      if (!this.#isPassing(error) || this.#closed) throw isOurs(error) ? translate(error) : error;
      await this.transaction(again);
    }
  }

  /**
   * A change of the schema commits at once on these servers, so there is no transaction: a lock keeps other installers
   * out, and every statement has to bear being repeated.
   */
  alone<Result>(prefix: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#patiently(
      () =>
        this.#holding(async ({ connection }) => {
          const tx = sqlOn(connection);
          const [named] = await tx.all<{ name: string }>("select database() as name");
          // The server takes no longer names, and has one room of them for all databases.
          const lock = `punctual.${createHash("sha256").update(`${named?.name}.${prefix}`).digest("hex").slice(0, 40)}`;
          const [got] = await tx.all<{ got: number | null }>(
            "select get_lock(?, ?) as got",
            lock,
            INSTALLING,
          );
          if (got?.got !== 1) {
            throw new PunctualError(
              "DATABASE_BUSY",
              `Another process has been installing for ${INSTALLING} s. Wait for it, or end it, and try again.`,
            );
          }
          const [before] = await tx.all<{ seconds: number }>("select @@lock_wait_timeout as seconds");
          try {
            await tx.run(`set session lock_wait_timeout = ${LOCK_BRIEFLY}`);
            return await work(tx);
          } finally {
            await tx.run(`set session lock_wait_timeout = ${before!.seconds}`);
            await tx.all("select release_lock(?) as released", lock);
          }
        }),
      () => true,
      true,
      BETWEEN_INSTALLS,
    ).catch((error) => {
      throw isLockTimeout(error) ? tablesInUse(error) : error;
    });
  }

  /** Waits for what was begun; what meets a fault from now on does not try again. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#working);
    await this.#connections.close();
  }

  /**
   * On a connection of its own: in the transaction that asks, the row of the ids would stay locked for everybody until
   * it ends. Only where there is no second connection to be had, that is better than to wait for oneself.
   */
  async newIds(sql: Sql, tables: Tables, count: number): Promise<number[]> {
    const reserve = ({ connection }: Held) => reserveIds(connection, tables, count);
    if (sql === this) return this.#patiently(() => this.#holding(reserve));
    const spare = await takeSpare(this.#connections);
    if (spare) {
      return this.#using(spare, reserve).catch((error) => {
        throw isOurs(error) ? translate(error) : error;
      });
    }
    await sql.run(RESERVE(tables), count);
    const [row] = await sql.all<{ last: number }>("select last_insert_id() as last");
    return endingWith(row!.last, count);
  }

  beside(tx: Sql): Sql {
    const all = async <Row>(text: string, ...params: Param[]): Promise<Row[]> => {
      const spare = await takeSpare(this.#connections);
      if (!spare) return tx.all<Row>(text, ...params);
      return this.#using(spare, async ({ connection }) =>
        rowsOf<Row>(await query(connection, text, params)),
      ).catch((error) => {
        throw isOurs(error) ? translate(error) : error;
      });
    };
    return { all, run: async (text, ...params) => void (await all(text, ...params)) };
  }

  async about(): Promise<{ version: string; settings: Record<string, string> }> {
    const [row] = await this.all<{ version: string }>("select version() as version");
    return { version: row!.version, settings: {} };
  }

  objects(): Statement {
    const text = `select table_name as name from information_schema.tables where table_schema = database()
       union select index_name from information_schema.statistics where table_schema = database()`;
    return { text, params: [] };
  }

  restore(tables: Tables, { statement }: MissingObject): Promise<void> {
    return this.alone(tables.prefix, (tx) => tx.run(statement));
  }

  /** Asks the server who it is. */
  async meet<Row>(text: string, nameOf: (row: Row) => dialect.Server): Promise<Row> {
    const [row] = await this.all<Row>(text);
    this.#name = nameOf(row!);
    return row!;
  }

  async #inside<Result>(
    held: Held,
    state: Try,
    work: (tx: Transaction) => Promise<Result>,
    { ours, first }: { ours: boolean; first?: string | undefined },
  ): Promise<Result> {
    const { connection } = held;
    const { isolate, takesSeveral } = this.#connections;
    const talk = new Conversation(connection, takesSeveral);
    const inside = async () => {
      if (isolate) talk.post(isolate, []);
      talk.post("start transaction", []);
      if (first && !state.again) talk.post(first, []);
      // What others send on the connection must not overtake what is ours.
      if (!ours) await talk.send("do 0", []);
      state.entered = true;
      const result = await work({
        handle: connection,
        again: state.again,
        all: async <Row>(text: string, ...params: Param[]) => rowsOf<Row>(await talk.send(text, params)),
        run: async (text, ...params) => {
          if (ours) talk.post(text, params);
          else await talk.send(text, params);
        },
      });
      state.committing = true;
      await talk.send("commit", []).catch((error) => {
        // An answer to commit, be it a refusal, means that nothing is in doubt.
        state.committing = isLost(error);
        throw error;
      });
      return result;
    };
    return this.#orRollBack(held, () => inside().finally(() => talk.end()));
  }

  async #orRollBack<Result>({ connection }: Held, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (isOurs(error) && isLost(error)) throw error;
      await query(connection, "rollback", []).catch(() => {
        throw new Unusable(error);
      });
      throw error;
    }
  }

  async #holding<Result>(work: (held: Held) => Promise<Result>, statement?: string): Promise<Result> {
    return this.#using(await this.#connections.take(statement), work);
  }

  async #using<Result>(held: Held, work: (held: Held) => Promise<Result>): Promise<Result> {
    const working = work(held);
    this.#working.add(working);
    let broken = false;
    try {
      return await working;
    } catch (error) {
      broken = error instanceof Unusable || (isOurs(error) && isLost(error));
      throw error instanceof Unusable ? error.cause : error;
    } finally {
      this.#working.delete(working);
      held.giveBack(broken);
    }
  }

  #patiently<Result>(
    work: () => Promise<Result>,
    mayRetry = () => true,
    mayTakeLong = false,
    waits?: Patience["waits"],
  ): Promise<Result> {
    return patiently(work, {
      ...(waits && { waits }),
      mayTakeLong,
      pending: this.#pending,
      isPassing: (error) => this.#isPassing(error) && !this.#closed && mayRetry(),
      translate: (error) => (isOurs(error) ? translate(error) : error),
      patience: () => (this.#name === null ? FIRST_PATIENCE : PATIENCE),
    });
  }

  get losses(): number {
    return this.#losses + this.#connections.idleLosses;
  }

  #isPassing(error: unknown): boolean {
    if (!isOurs(error)) return false;
    if (isLost(error)) this.#losses++;
    if (isConflict(error)) return true;
    return isLost(error) && this.#connections.renewable && !(this.#name === null && isMistake(error));
  }
}

/** The rollback failed as well, so that the connection must not be used again. */
class Unusable extends Error {
  constructor(cause: unknown) {
    super("the transaction could not be rolled back", { cause });
  }
}
