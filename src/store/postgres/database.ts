import type { MissingObject, VacuumReport } from "../maintenance.ts";
import type { PendingCalls } from "../pending-calls.ts";
import { acquireSpare } from "../server/connections.ts";
import { INSTALL_RETRY, tablesInUse } from "../server/install.ts";
import { RetryTimes } from "../server/retries.ts";
import type {
  About,
  Param,
  ServerDatabase,
  Sql,
  Statement,
  Tables,
  Transaction,
  TransactionOptions,
} from "../sql/database.ts";
import { deleteFrom, like, lookUp, pattern, upsert, using } from "../sql/dialect.ts";
import { retryPending, TransactionProgress, type TransactionRetryOptions } from "../sql/retry.ts";
import { TextCache } from "../sql/text-cache.ts";
import type { HeldClient, PgConnections } from "./connections.ts";
import * as dialect from "./dialect.ts";
import * as errors from "./errors.ts";
import { moveToHistory } from "./history-move.ts";
import { IS_READ_ONLY } from "./hosts.ts";
import { inSchemaOf } from "./object-names.ts";
import { NO_TIMEOUT, type QueryOptions, query, StatementNames } from "./query.ts";
import { IdSequence } from "./timeline.ts";
import { runAtOnce, runTransaction, SET_LOCK_TIMEOUT, type TransactionSettings } from "./transaction.ts";
import { vacuumReport } from "./vacuum.ts";

/** PostgreSQL 13 or newer. */
export class PostgresDatabase implements ServerDatabase {
  readonly name = "postgres";
  readonly forUpdate = " for update";
  readonly forShare = " for share";
  readonly skipLocked = " for update skip locked";
  readonly text = "?::text";
  readonly hasTag = "jsonb_exists(tags::jsonb, ?)";
  readonly key = "substr(lane, char_length(name) + 2)";
  readonly like: typeof like = like;
  readonly lower: typeof dialect.lower = dialect.lower;
  readonly pattern: typeof pattern = pattern;
  readonly scalar: typeof dialect.scalar = dialect.scalar;
  readonly clock = "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now";
  readonly isMultiWriter = false;
  readonly insertsLock = false;
  readonly purgesLate = false;
  readonly hasLateral = true;
  readonly unlessKeyHeld = " on conflict (unique_key) where unique_key is not null do nothing";
  readonly isIdTaken: (error: unknown) => boolean = errors.isIdTaken;
  readonly rows: typeof dialect.rows = dialect.rows;
  readonly upsert: typeof upsert = upsert;
  readonly updateFrom: typeof dialect.updateFrom = dialect.updateFrom;
  readonly updateByIds: typeof dialect.updateByIds = dialect.updateByIds;
  readonly deleteFrom: typeof deleteFrom = deleteFrom;
  readonly indexesLinks = true;
  readonly moveToHistory: typeof moveToHistory = moveToHistory;
  readonly lookUp: typeof lookUp = lookUp;
  readonly runsOfMembers: typeof dialect.runsOfMembers = dialect.runsOfMembers;
  readonly historyRange: typeof dialect.historyRange = dialect.historyRange;
  readonly using: typeof using = using;
  readonly upTo: typeof dialect.upTo = dialect.upTo;
  readonly readyQueues: typeof dialect.readyQueues = dialect.readyQueues;
  readonly nextDue: typeof dialect.nextDue = dialect.nextDue;
  readonly pausedJobs: typeof dialect.pausedJobs = dialect.pausedJobs;
  readonly objects: typeof dialect.objects = dialect.objects;
  readonly readyLanes: typeof dialect.readyLanes = dialect.readyLanes;
  readonly #names = new StatementNames();
  /** Texts of `insertTogether()`, by the text of the first statement. */
  readonly #pairs = new Map<string, TextCache>();
  readonly #sequence = new IdSequence();
  readonly #connections: PgConnections;
  readonly #pending: PendingCalls;
  readonly #retries: RetryTimes;
  #losses = 0;
  #closed = false;
  /** Whether an id of a finished run was met again. */
  #replaces = false;

  /** `isPatient`: see `OpenOptions`. */
  constructor(connections: PgConnections, pending: PendingCalls, isPatient?: () => boolean) {
    this.#connections = connections;
    this.#pending = pending;
    this.#retries = new RetryTimes(isPatient);
  }

  get losses(): number {
    return this.#losses + this.#connections.idleLosses;
  }

  /** `unlessKeyHeld` makes the insert skip such runs, so that none is refused. */
  isKeyHeld(): boolean {
    return false;
  }

  /** A plain insert is faster, so rows are replaced only after one was refused for its key. */
  orReplace(_: string, key: readonly string[], columns: readonly string[]): string {
    return this.#replaces ? dialect.orReplace(key, columns) : "";
  }

  lockOnly(lock: string, alias: string): string {
    return lock.replace(" for update", ` for update of ${alias}`);
  }

  async about(): Promise<About> {
    const text = `select current_setting('server_version') as version, ${IS_READ_ONLY} as read_only`;
    const [row] = await this.all<{ version: string; read_only: boolean }>(text);
    return { version: row!.version, readOnly: row!.read_only, settings: {} };
  }

  vacuum(tables: Tables): Promise<VacuumReport> {
    return vacuumReport(this, tables);
  }

  /**
   * Builds an index concurrently, so that others can write meanwhile; PostgreSQL does not allow that in a transaction.
   * An invalid index of an interrupted build still has the name and is dropped first.
   */
  async restore(tables: Tables, { name, kind, statement }: MissingObject): Promise<void> {
    if (kind !== "index") return this.alone(tables.prefix, (tx) => tx.run(statement));
    await this.#once(`drop index concurrently if exists ${inSchemaOf(tables, name)}`, [], {
      timeout: NO_TIMEOUT,
    });
    await this.#once(statement, [], { timeout: NO_TIMEOUT });
  }

  newIds(sql: Sql, tables: Tables, count: number, above = 0): Promise<number[]> {
    return this.#sequence.take(sql, sql === this ? this : this.beside(sql), tables, { count, above });
  }

  beside(tx: Sql): Sql {
    const all = async <Row>(text: string, ...params: Param[]): Promise<Row[]> => {
      const spare = await acquireSpare(this.#connections);
      return spare ? this.#on<Row>(spare, text, params) : tx.all<Row>(text, ...params);
    };
    return { all, run: async (text, ...params) => void (await all(text, ...params)) };
  }

  all<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.#retry(() => this.#once<Row>(text, params));
  }

  readWithin<Row>(ms: number, text: string, ...params: Param[]): Promise<Row[]> {
    return this.transaction((tx) => tx.all<Row>(text, ...params), {
      first: `set local statement_timeout = ${ms}`,
    });
  }

  isCancelled(error: unknown): boolean {
    return errors.isQueryCancelled(error);
  }

  fault(): unknown {
    return this.#pending.fault;
  }

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.all(text, ...params);
    this.#retries.written();
  }

  /** A statement is prepared only in a transaction of ours, which sets what its plan needs. */
  read<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.#retry(async () => {
      const held = await this.#acquire(text);
      if (!held.client.pipeline) return this.#on<Row>(held, text, params);
      return (await runAtOnce(held, { text, params }, this.#names)) as Row[];
    });
  }

  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    { retry = true, ...settings }: TransactionOptions = {},
  ): Promise<Result> {
    return this.#transaction(work, retry, settings);
  }

  /** Sends both as one statement, which is a transaction by itself and costs one round trip. */
  async insertTogether(
    one: Statement,
    other: Statement,
    again: (tx: Transaction) => Promise<void>,
    trailing: Statement | null = null,
  ): Promise<void> {
    if (!this.#pairs.has(one.text)) this.#pairs.set(one.text, new TextCache());
    const text = this.#pairs.get(one.text)!.get(other.text, () => `with one as (${one.text}) ${other.text}`);
    const params = [...one.params, ...other.params];
    try {
      await this.#pending.wait(() => this.#sendWith({ text, params }, trailing));
      this.#retries.written();
    } catch (error) {
      if (!this.#isTransient(error) || this.#closed) throw error;
      await this.transaction(again);
    }
  }

  async atOnce<Row>(statement: Statement): Promise<Row[] | null> {
    const send = async () => {
      const held = await this.#acquire();
      return (await runAtOnce(held, statement, this.#names)) as Row[];
    };
    try {
      return await this.#pending.wait(send);
    } catch (error) {
      if (!this.#isTransient(error) || this.#closed) throw error;
      return null;
    }
  }

  /** Waits until another process has finished installing, however long that takes. */
  alone<Result>(prefix: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#transaction(
      async (tx) => {
        await tx.all("select pg_advisory_xact_lock(hashtextextended(?, 0))", `punctual install ${prefix}`);
        // A migration that waits for a lock on a table blocks every later statement on that table.
        await tx.run(SET_LOCK_TIMEOUT);
        return work(tx);
      },
      true,
      { timeout: NO_TIMEOUT, waits: INSTALL_RETRY },
    ).catch((error) => {
      throw errors.isLockTimeout(error) ? tablesInUse(error) : error;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connections.close();
  }

  /** Sends one statement outside any transaction, and does not retry it. */
  async #once<Row>(text: string, params: Param[], options: QueryOptions = {}): Promise<Row[]> {
    return this.#on(await this.#acquire(text), text, params, options);
  }

  /**
   * Sends a statement, and `trailing` right after it if the connection is pipelined; in one packet, the first would
   * wait for the second to be built. Waits for the answer of the first only.
   */
  async #sendWith({ text, params }: Statement, trailing: Statement | null): Promise<void> {
    const held = await this.#acquire(text);
    const options = { names: this.#names };
    const answer = query(held.client, text, params, options);
    const followed = trailing && query(held.client, trailing.text, trailing.params, options).catch(() => {});
    let broken = true;
    try {
      await answer;
      broken = false;
    } catch (error) {
      broken = errors.isConnectionLost(error);
      throw error;
    } finally {
      void Promise.resolve(followed).then(() => held.release(broken));
    }
  }

  async #on<Row>(
    held: HeldClient,
    text: string,
    params: Param[],
    options: QueryOptions = {},
  ): Promise<Row[]> {
    let broken = true;
    try {
      const result = await query(held.client, text, params, options);
      broken = false;
      return result.rows as Row[];
    } catch (error) {
      broken = errors.isConnectionLost(error);
      throw error;
    } finally {
      held.release(broken);
    }
  }

  #transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    retry: boolean,
    {
      waits,
      ...settings
    }: Pick<TransactionSettings, "first" | "lockTimeout" | "timeout"> & {
      waits?: TransactionRetryOptions["waits"];
    },
  ): Promise<Result> {
    const progress = new TransactionProgress();
    const once = async () => {
      progress.begin();
      const held = await this.#acquire();
      // A transaction with code of the caller's in it is not retried once that code was called.
      return runTransaction(held, progress, work, { isOurs: retry, names: this.#names, ...settings });
    };
    return this.#retry(once, {
      mayRetry: () => retry || !progress.entered,
      mayTakeLong: !retry || settings.timeout === NO_TIMEOUT,
      waits,
    });
  }

  /** Retries `work` after transient errors. `mayRetry` is asked after each of them. */
  #retry<Result>(
    work: () => Promise<Result>,
    {
      mayRetry = () => true,
      mayTakeLong = false,
      waits,
    }: {
      mayRetry?: () => boolean;
      mayTakeLong?: boolean;
      waits?: TransactionRetryOptions["waits"] | undefined;
    } = {},
  ): Promise<Result> {
    return retryPending(work, {
      ...(waits && { waits }),
      mayTakeLong,
      pending: this.#pending,
      isTransient: (error) => this.#isTransient(error) && mayRetry() && !this.#closed,
      translate: (error) => error,
      retryFor: () => this.#retries.retryFor,
    });
  }

  /** Whether a retry may succeed. Also counts lost connections, and stops preparing statements behind a pooler. */
  #isTransient(error: unknown): boolean {
    if (errors.isConnectionLost(error)) this.#losses++;
    if (errors.isStatementUnknown(error)) {
      this.#names.stop();
      return true;
    }
    if (errors.isPastTaken(error)) this.#replaces = true;
    if (errors.isPastTaken(error) || errors.isStalePlan(error) || errors.isConflict(error)) return true;
    if (errors.isReadOnly(error) && !this.#retries.mayRetryReadOnly()) return false;
    return (
      errors.isConnectionLost(error) &&
      this.#connections.canReconnect &&
      (this.#retries.wasReached || !errors.isMisconfiguration(error))
    );
  }

  async #acquire(statement?: string): Promise<HeldClient> {
    try {
      const held = await this.#connections.acquire(statement);
      this.#retries.reached();
      return held;
    } catch (error) {
      throw errors.translate(error);
    }
  }
}
