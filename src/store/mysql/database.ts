import type { MissingObject } from "../maintenance.ts";
import { PendingCalls } from "../pending-calls.ts";
import { acquireSpare } from "../server/connections.ts";
import { INSTALL_RETRY, tablesInUse } from "../server/install.ts";
import {
  type ColumnType,
  idsAsJson,
  type Param,
  type ServerDatabase,
  type Sql,
  type Statement,
  type Tables,
  type Transaction,
  type TransactionOptions,
} from "../sql/database.ts";
import { historyRange, like, pattern } from "../sql/dialect.ts";
import { RETRY_FOR, type RetryOptions, retryPending, TransactionProgress } from "../sql/retry.ts";
import type { HeldMysqlConnection, MysqlConnections } from "./connections.ts";
import * as dialect from "./dialect.ts";
import {
  isConflict,
  isConnectionLost,
  isIdTaken,
  isKeyHeld,
  isLockTimeout,
  isMisconfiguration,
  isQueryCancelled,
  translate,
} from "./errors.ts";
import { acquireInstallLock } from "./install-lock.ts";
import { headerOf, isOwnError, query, querySeveral, rowsOf, sqlOn } from "./query.ts";
import { MAX_INLINE_LENGTH, orRollBack, RollbackFailed, runTransaction } from "./transaction.ts";

/** Longest the first connection is retried, in milliseconds: a server that never answered is likely a wrong address. */
const FIRST_RETRY_FOR = 5000;

/**
 * Longest a migration waits for a lock on a table, in seconds. While it waits it blocks every later statement on that
 * table; then it gives up its place in the lock queue and is retried.
 */
const TABLE_LOCK_TIMEOUT = 1;

/** MySQL 8.0 or newer, and MariaDB 10.6 or newer. */
export class MysqlDatabase implements ServerDatabase {
  readonly forUpdate = " for update";
  readonly skipLocked = " for update skip locked";
  readonly text = "?";
  readonly hasTag = "json_contains(tags, json_quote(?))";
  readonly key = "substr(lane, char_length(name) + 2)";
  readonly like: typeof like = like;
  readonly pattern: typeof pattern = pattern;
  readonly scalar: typeof dialect.scalar = dialect.scalar;
  /**
   * Does not depend on the session's time zone. A caller's session may also have a time of its own (`set timestamp`):
   * `now()` follows it and `sysdate()` does not, so their difference corrects it.
   */
  readonly clock =
    "select (timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) + timestampdiff(microsecond, now(6), sysdate(6))) div 1000 as now";
  readonly insertsLock = true;
  readonly purgesLate = true;
  readonly unlessKeyHeld = "";
  readonly isKeyHeld: (error: unknown) => boolean = isKeyHeld;
  readonly isIdTaken: (error: unknown) => boolean = isIdTaken;
  readonly upsert: typeof dialect.upsert = dialect.upsert;
  readonly indexesLinks = false;
  readonly movesRows = false;
  readonly lookUp: typeof dialect.lookUp = dialect.lookUp;
  readonly updateFrom: typeof dialect.updateFrom = dialect.updateFrom;
  readonly deleteFrom: typeof dialect.deleteFrom = dialect.deleteFrom;
  readonly historyRange: typeof historyRange = historyRange;
  readonly using: typeof dialect.using = dialect.using;
  readonly readyQueues: typeof dialect.readyQueues = dialect.readyQueues;
  readonly nextDue: typeof dialect.nextDue = dialect.nextDue;
  readonly readyLanes: typeof dialect.readyLanes = dialect.readyLanes;
  readonly #connections: MysqlConnections;
  readonly #pending: PendingCalls;
  /** Statements and transactions that are being executed. */
  readonly #active = new Set<Promise<unknown>>();
  /** Null: the server has not been asked yet. */
  #flavour: dialect.Flavour | null = null;
  #closed = false;
  #losses = 0;

  constructor(connections: MysqlConnections, pending: PendingCalls = new PendingCalls()) {
    this.#connections = connections;
    this.#pending = pending;
  }

  /** Known after `identify`. */
  get name(): dialect.Flavour {
    return this.#flavour!;
  }

  get losses(): number {
    return this.#losses + this.#connections.idleLosses;
  }

  /**
   * MySQL rejects a lock on the table expression of a parameter, so the lock names the table. MariaDB needs no such
   * name, and has no `for update of`.
   */
  lockOnly(lock: string, alias: string): string {
    return this.name === "mysql" ? lock.replace(" for update", ` for update of ${alias}`) : lock;
  }

  read<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.all(text, ...params);
  }

  updateByIds(
    table: string,
    set: Record<string, string>,
    ids: readonly number[],
    params: Param[],
  ): Statement {
    const listed = dialect.paddedIds(ids);
    if (listed) return dialect.updateListed(table, set, listed, params);
    const text = this.updateFrom(table, set, this.rows({ id: "integer" }));
    return { text, params: [idsAsJson(ids), ...params] };
  }

  rows(columns: Record<string, ColumnType>): string {
    return dialect.rows(this.name, columns);
  }

  all<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.#retry(() =>
      this.#withConnection(
        async ({ connection }) => rowsOf<Row>(await query(connection, text, params)),
        text,
      ),
    );
  }

  readWithin<Row>(ms: number, text: string, ...params: Param[]): Promise<Row[]> {
    return this.all<Row>(dialect.withTimeLimit(this.name, ms, text), ...params);
  }

  isCancelled(error: unknown): boolean {
    return isQueryCancelled(error);
  }

  fault(): unknown {
    return this.#pending.fault === null ? null : translateOwn(this.#pending.fault);
  }

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.all(text, ...params);
  }

  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    { retry = true, first }: TransactionOptions = {},
  ): Promise<Result> {
    const progress = new TransactionProgress();
    const { isolationLevelStatement, isMultiStatement } = this.#connections;
    const settings = { isolationLevelStatement, isMultiStatement, isOurs: retry, first };
    const once = () => {
      progress.begin();
      return this.#withConnection(({ connection }) => runTransaction(connection, progress, work, settings));
    };
    return this.#retry(once, { mayRetry: () => retry || !progress.entered, mayTakeLong: !retry });
  }

  /** Sends both in one packet, with their transaction, if the connection allows that and their values are short. */
  async both(one: Statement, other: Statement, again: (tx: Transaction) => Promise<void>): Promise<void> {
    if (!this.#connections.isMultiStatement || dialect.paramsLength(other) > MAX_INLINE_LENGTH) {
      let isSent = false;
      return this.transaction(async (tx) => {
        // A retry: the first try may have been committed.
        if (isSent) return again(tx);
        isSent = true;
        for (const { text, params } of [one, other]) await tx.run(text, ...params);
      });
    }
    const packet = ["start transaction", dialect.inlineParams(one), dialect.inlineParams(other), "commit"];
    try {
      const send = ({ connection }: HeldMysqlConnection) =>
        orRollBack(connection, () => querySeveral(connection, packet));
      await this.#pending.wait(() => this.#withConnection(send));
    } catch (error) {
      if (!this.#isTransient(error) || this.#closed) throw translateOwn(error);
      await this.transaction(again);
    }
  }

  /**
   * These servers commit each schema change at once, so there is no transaction: a named lock keeps other installers
   * out, and every statement must be repeatable.
   */
  alone<Result>(prefix: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const once = () =>
      this.#withConnection(async ({ connection }) => {
        const tx = sqlOn(connection);
        const lock = await acquireInstallLock(tx, prefix);
        const [before] = await tx.all<{ seconds: number }>("select @@lock_wait_timeout as seconds");
        try {
          await tx.run(`set session lock_wait_timeout = ${TABLE_LOCK_TIMEOUT}`);
          return await work(tx);
        } finally {
          await tx.run(`set session lock_wait_timeout = ${before!.seconds}`);
          await tx.all("select release_lock(?) as released", lock);
        }
      });
    return this.#retry(once, { mayTakeLong: true, waits: INSTALL_RETRY }).catch((error) => {
      throw isLockTimeout(error) ? tablesInUse(error) : error;
    });
  }

  /** Waits for active statements and transactions, which are no longer retried, and closes the connections. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#active);
    await this.#connections.close();
  }

  /**
   * Reserves the ids on a second connection: in the caller's transaction, the row of the counter would stay locked for
   * all processes until it ends. The caller's transaction does it only if no second connection becomes free: waiting
   * longer could deadlock, because the transaction may hold the last one.
   */
  async newIds(sql: Sql, tables: Tables, count: number): Promise<number[]> {
    const reserve = async ({ connection }: HeldMysqlConnection) => {
      const { insertId } = headerOf(await query(connection, dialect.reserveIds(tables), [count]));
      return idsUpTo(insertId, count);
    };
    if (sql === this) return this.#retry(() => this.#withConnection(reserve));
    const spare = await acquireSpare(this.#connections);
    if (spare) return this.#translated(this.#use(spare, reserve));
    await sql.run(dialect.reserveIds(tables), count);
    const [row] = await sql.all<{ last: number }>("select last_insert_id() as last");
    return idsUpTo(row!.last, count);
  }

  beside(tx: Sql): Sql {
    const all = async <Row>(text: string, ...params: Param[]): Promise<Row[]> => {
      const spare = await acquireSpare(this.#connections);
      if (!spare) return tx.all<Row>(text, ...params);
      return this.#translated(
        this.#use(spare, async ({ connection }) => rowsOf<Row>(await query(connection, text, params))),
      );
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

  /** Asks the server which of the two it is, by a `select` of one row, and returns the row. */
  async identify<Row>(text: string, flavourOf: (row: Row) => dialect.Flavour): Promise<Row> {
    const [row] = await this.all<Row>(text);
    this.#flavour = flavourOf(row!);
    return row!;
  }

  async #withConnection<Result>(
    work: (held: HeldMysqlConnection) => Promise<Result>,
    statement?: string,
  ): Promise<Result> {
    return this.#use(await this.#connections.acquire(statement), work);
  }

  /** Runs `work` on the connection and releases it. */
  async #use<Result>(
    held: HeldMysqlConnection,
    work: (held: HeldMysqlConnection) => Promise<Result>,
  ): Promise<Result> {
    const working = work(held);
    this.#active.add(working);
    let broken = false;
    try {
      return await working;
    } catch (error) {
      broken = error instanceof RollbackFailed || (isOwnError(error) && isConnectionLost(error));
      throw error instanceof RollbackFailed ? error.cause : error;
    } finally {
      this.#active.delete(working);
      held.release(broken);
    }
  }

  async #translated<Result>(work: Promise<Result>): Promise<Result> {
    return work.catch((error) => {
      throw translateOwn(error);
    });
  }

  /** Retries `work` after transient errors. `mayRetry` is asked after each of them. */
  #retry<Result>(
    work: () => Promise<Result>,
    {
      mayRetry = () => true,
      mayTakeLong = false,
      waits,
    }: { mayRetry?: () => boolean; mayTakeLong?: boolean; waits?: RetryOptions["waits"] | undefined } = {},
  ): Promise<Result> {
    return retryPending(work, {
      ...(waits && { waits }),
      mayTakeLong,
      pending: this.#pending,
      isTransient: (error) => this.#isTransient(error) && !this.#closed && mayRetry(),
      translate: translateOwn,
      retryFor: () => (this.#flavour === null ? FIRST_RETRY_FOR : RETRY_FOR),
    });
  }

  /** Whether a retry may succeed. Also counts lost connections. */
  #isTransient(error: unknown): boolean {
    if (!isOwnError(error)) return false;
    if (isConnectionLost(error)) this.#losses++;
    if (isConflict(error)) return true;
    const isWrongUrl = this.#flavour === null && isMisconfiguration(error);
    return isConnectionLost(error) && this.#connections.canReconnect && !isWrongUrl;
  }
}

/** Returns `count` ids of which `last` is the highest. */
function idsUpTo(last: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => last - count + 1 + index);
}

/** Translates errors of our own statements; an error that a caller's code threw stays unchanged. */
function translateOwn(error: unknown): unknown {
  return isOwnError(error) ? translate(error) : error;
}
