import type { MissingObject } from "../maintenance.ts";
import type { PendingCalls } from "../pending-calls.ts";
import { acquireSpare } from "../server/connections.ts";
import { INSTALL_RETRY, tablesInUse } from "../server/install.ts";
import { RetryTimes } from "../server/retries.ts";
import {
  type About,
  type ColumnType,
  idsAsJson,
  type Param,
  type ServerDatabase,
  type Sql,
  type Statement,
  type Tables,
  type Transaction,
  type TransactionOptions,
  tablesWith,
} from "../sql/database.ts";
import { historyRange, like, pattern, upTo } from "../sql/dialect.ts";
import { retryPending, TransactionProgress, type TransactionRetryOptions } from "../sql/retry.ts";
import { ClusterDetector, MAX_INLINE_LENGTH } from "./cluster.ts";
import type { HeldMysqlConnection, MysqlConnections } from "./connections.ts";
import * as dialect from "./dialect.ts";
import * as errors from "./errors.ts";
import { IS_READ_ONLY } from "./hosts.ts";
import { IdCounter, idsUpTo } from "./id-counter.ts";
import { installAlone } from "./install-lock.ts";
import { headerOf, isOwnError, query, querySeveral, rowsOf, translateOwn } from "./query.ts";
import { orRollBack, RollbackError, runTransaction } from "./transaction.ts";

type RetryRules = Pick<TransactionRetryOptions, "waits" | "mayTakeLong"> & { mayRetry?(): boolean };

/** MySQL 8.0 or newer, and MariaDB 10.6 or newer. */
export class MysqlDatabase implements ServerDatabase {
  readonly forUpdate = " for update";
  readonly forShare = " lock in share mode";
  readonly skipLocked = " for update skip locked";
  readonly text = "?";
  readonly hasTag = "json_contains(tags, json_quote(?))";
  readonly key = "substr(lane, char_length(name) + 2)";
  readonly like: typeof like = like;
  readonly lower: typeof dialect.lower = dialect.lower;
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
  readonly orReplace: typeof dialect.orReplace = dialect.orReplace;
  readonly isKeyHeld: (error: unknown) => boolean = errors.isKeyHeld;
  readonly isIdTaken: (error: unknown) => boolean = errors.isIdTaken;
  readonly upsert: typeof dialect.upsert = dialect.upsert;
  readonly indexesLinks = false;
  readonly lookUp: typeof dialect.lookUp = dialect.lookUp;
  readonly runsOfMembers: typeof dialect.runsOfMembers = dialect.runsOfMembers;
  readonly updateFrom: typeof dialect.updateFrom = dialect.updateFrom;
  readonly deleteFrom: typeof dialect.deleteFrom = dialect.deleteFrom;
  readonly historyRange: typeof historyRange = historyRange;
  readonly using: typeof dialect.using = dialect.using;
  readonly upTo: typeof upTo = upTo;
  readonly unionArm: typeof dialect.unionArm = dialect.unionArm;
  readonly readyQueues: typeof dialect.readyQueues = dialect.readyQueues;
  readonly nextDue: typeof dialect.nextDue = dialect.nextDue;
  readonly pausedJobs: typeof dialect.pausedJobs = dialect.pausedJobs;
  readonly readyLanes: typeof dialect.readyLanes = dialect.readyLanes;
  readonly #connections: MysqlConnections;
  readonly #pending: PendingCalls;
  /** Statements and transactions that are being executed. */
  readonly #active = new Set<Promise<unknown>>();
  readonly #cluster = new ClusterDetector();
  /** Null: the server has not been asked yet. */
  #flavour: dialect.Flavour | null = null;
  readonly #counter = new IdCounter();
  readonly #retries: RetryTimes;
  #closed = false;
  #losses = 0;

  /** `isPatient`: see `OpenOptions`. */
  constructor(connections: MysqlConnections, pending: PendingCalls, isPatient?: () => boolean) {
    this.#connections = connections;
    this.#pending = pending;
    this.#retries = new RetryTimes(isPatient);
  }

  /** Known after `identify`. */
  get name(): dialect.Flavour {
    return this.#flavour!;
  }

  get isMultiWriter(): boolean {
    return this.#cluster.kind !== null;
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
    return errors.isQueryCancelled(error);
  }

  fault(): unknown {
    return this.#pending.fault === null ? null : translateOwn(this.#pending.fault);
  }

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.all(text, ...params);
    this.#retries.written();
  }

  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    { retry = true, first, waitForNode = !retry }: TransactionOptions = {},
  ): Promise<Result> {
    const progress = new TransactionProgress();
    progress.catchesUp = waitForNode;
    const { isolationLevelStatement, isMultiStatement } = this.#connections;
    const settings = { isolationLevelStatement, isMultiStatement, isOurs: retry, first };
    const once = () => {
      progress.begin();
      return this.#withConnection(async ({ connection }) => {
        const cluster = await this.#cluster.detect(connection, this.losses);
        return runTransaction(connection, progress, work, { ...settings, cluster });
      });
    };
    return this.#retry(once, { mayRetry: () => retry || !progress.entered, mayTakeLong: !retry });
  }

  /** Sends both in one packet, with their transaction, if the connection allows that and their values are short. */
  async insertTogether(
    one: Statement,
    other: Statement,
    again: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    // On a cluster, `commit` must be a packet of its own.
    if (
      !this.#connections.isMultiStatement ||
      this.isMultiWriter ||
      dialect.paramsLength(other) > MAX_INLINE_LENGTH
    ) {
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
      this.#retries.written();
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
    const place = { prefix, table: this.isMultiWriter ? tablesWith(prefix).migrations : null };
    const once = () => this.#withConnection(({ connection }) => installAlone(connection, place, work));
    return this.#retry(once, { mayTakeLong: true, waits: INSTALL_RETRY }).catch((error) => {
      throw errors.isLockTimeout(error) ? tablesInUse(error) : error;
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
  async newIds(sql: Sql, tables: Tables, count: number, above = 0): Promise<number[]> {
    const statement = await this.#counter.statement(sql, this.name, tables);
    const reserve = async ({ connection }: HeldMysqlConnection) => {
      const { insertId } = headerOf(await query(connection, statement, [above, count]));
      return idsUpTo(insertId, count);
    };
    if (sql === this) return this.#retry(() => this.#withConnection(reserve));
    const reserved = await this.#onSpare(reserve);
    if (reserved) return reserved;
    await sql.run(statement, above, count);
    const [row] = await sql.all<{ last: number }>("select last_insert_id() as last");
    return idsUpTo(row!.last, count);
  }

  beside(tx: Sql): Sql {
    const all = async <Row>(text: string, ...params: Param[]): Promise<Row[]> =>
      (await this.#onSpare(async ({ connection }) => rowsOf<Row>(await query(connection, text, params)))) ??
      tx.all<Row>(text, ...params);
    return { all, run: async (text, ...params) => void (await all(text, ...params)) };
  }

  async about(): Promise<About> {
    const text = `select version() as version, ${IS_READ_ONLY} as read_only`;
    const [row] = await this.all<{ version: string; read_only: number }>(text);
    return { version: row!.version, readOnly: row!.read_only === 1, settings: {} };
  }

  objects(): Statement {
    return { text: dialect.OBJECTS, params: [] };
  }

  restore(tables: Tables, { statement }: MissingObject): Promise<void> {
    return this.alone(tables.prefix, (tx) => tx.run(statement));
  }

  /** Asks the server which of the two it is, by a `select` of one row, and returns the row. */
  async identify<Row>(text: string, flavourOf: (row: Row) => dialect.Flavour): Promise<Row> {
    const [row] = await this.all<Row>(text);
    this.#flavour = flavourOf(row!);
    await this.#retry(() =>
      this.#withConnection(({ connection }) => this.#cluster.detect(connection, this.losses), text),
    );
    this.#retries.reached();
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
      broken = error instanceof RollbackError || (isOwnError(error) && errors.isConnectionLost(error));
      throw error instanceof RollbackError ? error.cause : error;
    } finally {
      this.#active.delete(working);
      held.release(broken);
    }
  }

  /**
   * Runs `work` on a second connection, and retries it after conflicts. Null: none became free. A lost connection is
   * not retried: the transaction on the first one would stay open meanwhile.
   */
  #onSpare<Result>(work: (held: HeldMysqlConnection) => Promise<Result>): Promise<Result | null> {
    let isConflicting = false;
    const once = async () => {
      const spare = await acquireSpare(this.#connections);
      return (
        spare &&
        this.#use(spare, work).catch((error) => {
          isConflicting = errors.isConflict(error);
          throw error;
        })
      );
    };
    return this.#retry(once, { mayRetry: () => isConflicting });
  }

  /** Retries `work` after transient errors. `mayRetry` is asked after each of them. */
  #retry<Result>(
    work: () => Promise<Result>,
    { mayRetry = () => true, mayTakeLong = false, ...rest }: RetryRules = {},
  ): Promise<Result> {
    return retryPending(work, {
      ...rest,
      mayTakeLong,
      pending: this.#pending,
      isTransient: (error) => this.#isTransient(error) && !this.#closed && mayRetry(),
      translate: translateOwn,
      retryFor: () => this.#retries.retryFor,
    });
  }

  /** Whether a retry may succeed. Also counts lost connections. */
  #isTransient(error: unknown): boolean {
    if (!isOwnError(error)) return false;
    if (errors.isConnectionLost(error)) this.#losses++;
    if (errors.isConflict(error)) return true;
    if (errors.isReadOnly(error) && !this.#retries.mayRetryReadOnly()) return false;
    const isWrongUrl = !this.#retries.wasReached && errors.isMisconfiguration(error);
    return errors.isConnectionLost(error) && this.#connections.canReconnect && !isWrongUrl;
  }
}
