import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Backoff } from "../../backoff.ts";
import type { MissingObject } from "../maintenance.ts";
import { PendingCalls } from "../pending-calls.ts";
import type { About, Database, Param, Sql, Statement, Tables, Transaction } from "../sql/database.ts";
import { deleteFrom, historyRange, lookUp, upsert, upTo, using } from "../sql/dialect.ts";
import { retry } from "../sql/retry.ts";
import * as dialect from "./dialect.ts";
import { callerTransactionOpen, isBusy, translate } from "./errors.ts";

/** Bound of the cache: searches differ in their text, so the number of different statements has no limit. */
const MAX_STATEMENTS = 500;

/**
 * Waits between tries while another process holds the write lock, in milliseconds. A transaction usually takes a few.
 */
export const BUSY_WAITS: Backoff = { first: 1, longest: 25 };

/**
 * SQLite, on one connection. Transactions and statements use it one after another. While another process holds the
 * lock, they are retried with waits in between, so that SQLite never blocks the event loop for longer than its busy
 * timeout.
 */
export class SqliteDatabase implements Database {
  readonly name = "sqlite";
  readonly isMultiWriter = false;
  /** No row locks: a write transaction locks the whole database. */
  readonly forUpdate = "";
  readonly forShare = "";
  readonly skipLocked = "";
  readonly text = "?";
  readonly hasTag = "exists (select 1 from json_each(tags) where value = ?)";
  readonly key = "substr(lane, length(name) + 2)";
  readonly like: typeof dialect.like = dialect.like;
  readonly lower: typeof dialect.lower = dialect.lower;
  readonly pattern: typeof dialect.pattern = dialect.pattern;
  readonly scalar: typeof dialect.scalar = dialect.scalar;
  readonly indexesLinks = true;
  readonly unlessKeyHeld = " on conflict (unique_key) where unique_key is not null do nothing";
  readonly orReplace: typeof dialect.orReplace = dialect.orReplace;
  readonly lookUp: typeof lookUp = lookUp;
  readonly runsOfMembers: typeof dialect.runsOfMembers = dialect.runsOfMembers;
  readonly using: typeof using = using;
  readonly upTo: typeof upTo = upTo;
  readonly historyRange: typeof historyRange = historyRange;
  readonly upsert: typeof upsert = upsert;
  readonly rows: typeof dialect.rows = dialect.rows;
  readonly updateFrom: typeof dialect.updateFrom = dialect.updateFrom;
  readonly deleteFrom: typeof deleteFrom = deleteFrom;
  readonly handle: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #pending: PendingCalls;
  /** Settles when the last transaction or statement has ended. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(handle: DatabaseSync, pending: PendingCalls = new PendingCalls()) {
    this.handle = handle;
    this.#pending = pending;
  }

  /** `unlessKeyHeld` makes the insert skip such runs. */
  isKeyHeld(): boolean {
    return false;
  }

  /** Compiles a statement, or returns it if it is compiled already. */
  #statement(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.handle.prepare(text);
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      this.#statements.set(text, statement);
    }
    return statement;
  }

  select<Row>(text: string, ...params: Param[]): Row[] {
    return this.#statement(text).all(...params) as Row[];
  }

  row<Row>(text: string, ...params: Param[]): Row | undefined {
    return this.#statement(text).get(...params) as Row | undefined;
  }

  change(text: string, ...params: Param[]): number {
    return this.#statement(text).run(...params).changes as number;
  }

  /** Calls `work`, which reads, when no transaction of ours is open. */
  read<Result>(work: () => Result): Promise<Result> {
    return this.#exclusively(async () => work());
  }

  /** Calls `work` inside a write transaction. */
  write<Result>(work: () => Result): Promise<Result> {
    return this.#inTransaction(async () => work());
  }

  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#inTransaction(() =>
      work({
        all: async (text, ...params) => this.select(text, ...params),
        run: async (text, ...params) => void this.change(text, ...params),
        handle: this.handle,
        again: false,
      }),
    );
  }

  lockOnly(lock: string): string {
    return lock;
  }

  alone<Result>(_prefix: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.transaction(work);
  }

  restore(tables: Tables, { statement }: MissingObject): Promise<void> {
    return this.alone(tables.prefix, (tx) => tx.run(statement));
  }

  all<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.read(() => this.select<Row>(text, ...params));
  }

  /** A statement cannot be cancelled: the deadline is checked between statements, each of which reads few rows. */
  readWithin<Row>(_ms: number, text: string, ...params: Param[]): Promise<Row[]> {
    return this.all<Row>(text, ...params);
  }

  isCancelled(): boolean {
    return false;
  }

  fault(): unknown {
    return this.#pending.fault === null ? null : translate(this.#pending.fault);
  }

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.#exclusively(async () => {
      this.#checkNoCallerTransaction();
      this.change(text, ...params);
    });
  }

  async about(): Promise<About> {
    return this.read(() => {
      const setting = (name: string) =>
        String(Object.values(this.row<object>(`pragma ${name}`) ?? {})[0] ?? "");
      const synchronous = ["off", "normal", "full", "extra"][Number(setting("synchronous"))] ?? "";
      return {
        version: this.row<{ version: string }>("select sqlite_version() as version")!.version,
        readOnly: false,
        settings: {
          journal_mode: setting("journal_mode"),
          synchronous,
          file: this.handle.location() ?? ":memory:",
        },
      };
    });
  }

  objects(): Statement {
    return { text: "select name from sqlite_schema", params: [] };
  }

  async newIds(_sql: Sql, _tables: Tables, count: number): Promise<null[]> {
    return Array(count).fill(null);
  }

  /** Takes the write lock at once (`begin immediate`): SQLite does not wait when it upgrades a read lock, and fails. */
  #inTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#exclusively(async () => {
      this.#checkNoCallerTransaction();
      this.handle.exec("begin immediate");
      try {
        const result = await work();
        this.handle.exec("commit");
        return result;
      } catch (error) {
        if (this.handle.isTransaction) this.handle.exec("rollback");
        throw error;
      }
    });
  }

  /**
   * Throws "busy" while the caller has a transaction open, which happens on an in-memory database: its one handle is
   * shared. A write of ours would be rolled back with that transaction.
   */
  #checkNoCallerTransaction(): void {
    if (!this.handle.isTransaction) return;
    throw callerTransactionOpen();
  }

  #exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const options = { pending: this.#pending, isTransient: isBusy, translate, waits: BUSY_WAITS };
    return this.#pending.wait((isGivenUp) => {
      const mine = this.#last.then(() => retry(work, options, isGivenUp));
      this.#last = mine.catch(() => {});
      return mine;
    });
  }
}
