import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { MissingObject } from "../maintenance.ts";
import { Pending } from "../pending.ts";
import type { Database, Param, Sql, Statement, Tables, Transaction } from "../sql/database.ts";
import { lookUp, stretch, using } from "../sql/dialect.ts";
import { tryUntil } from "../sql/patience.ts";
import * as dialect from "./dialect.ts";
import { isBusy, ownersTransaction, translate } from "./errors.ts";

/** Queries of people differ in their shape, and there is no end of them. */
const MOST_STATEMENTS = 500;

/** Another process holds the lock for some milliseconds. */
const WAITS = { first: 1, longest: 25 };

/**
 * One SQLite connection. A transaction has it to itself from begin to commit; a lock held by another process is
 * waited out between tries, so that the event loop is never blocked for longer than the busy timeout.
 */
export class Connection implements Database {
  readonly name = "sqlite";
  /** The write lock has locked everything. */
  readonly forUpdate = "";
  readonly skipLocked = "";
  readonly text = "?";
  readonly tagged = "exists (select 1 from json_each(tags) where value = ?)";
  readonly key = "substr(lane, length(name) + 2)";
  readonly like: typeof dialect.like = dialect.like;
  readonly pattern: typeof dialect.pattern = dialect.pattern;
  readonly scalar: typeof dialect.scalar = dialect.scalar;
  readonly movesRows = false;
  readonly lookUp: typeof lookUp = lookUp;
  readonly using: typeof using = using;
  readonly stretch: typeof stretch = stretch;
  readonly upsert: typeof dialect.upsert = dialect.upsert;
  readonly rows: typeof dialect.rows = dialect.rows;
  readonly updateFrom: typeof dialect.updateFrom = dialect.updateFrom;
  readonly deleteFrom: typeof dialect.deleteFrom = dialect.deleteFrom;
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #pending: Pending;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(db: DatabaseSync, pending: Pending = new Pending()) {
    this.db = db;
    this.#pending = pending;
  }

  /** A statement is compiled once; the text is its name. */
  statement(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.db.prepare(text);
      if (this.#statements.size >= MOST_STATEMENTS) this.#statements.clear();
      this.#statements.set(text, statement);
    }
    return statement;
  }

  select<Row>(text: string, ...params: Param[]): Row[] {
    return this.statement(text).all(...params) as Row[];
  }

  row<Row>(text: string, ...params: Param[]): Row | undefined {
    return this.statement(text).get(...params) as Row | undefined;
  }

  change(text: string, ...params: Param[]): number {
    return this.statement(text).run(...params).changes as number;
  }

  /** Reads outside any transaction of ours. */
  read<Result>(work: () => Result): Promise<Result> {
    return this.#exclusively(async () => work());
  }

  /** A write transaction whose body is synchronous. */
  write<Result>(work: () => Result): Promise<Result> {
    return this.#inTransaction(async () => work());
  }

  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#inTransaction(() =>
      work({
        all: async (text, ...params) => this.select(text, ...params),
        run: async (text, ...params) => void this.change(text, ...params),
        handle: this.db,
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

  async run(text: string, ...params: Param[]): Promise<void> {
    await this.#exclusively(async () => {
      this.#refuseCallersTransaction();
      this.change(text, ...params);
    });
  }

  async about(): Promise<{ version: string; settings: Record<string, string> }> {
    return this.read(() => {
      const setting = (name: string) =>
        String(Object.values(this.row<object>(`pragma ${name}`) ?? {})[0] ?? "");
      const synchronous = ["off", "normal", "full", "extra"][Number(setting("synchronous"))] ?? "";
      return {
        version: this.row<{ version: string }>("select sqlite_version() as version")!.version,
        settings: {
          journal_mode: setting("journal_mode"),
          synchronous,
          file: this.db.location() ?? ":memory:",
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

  /** `begin immediate`: a read lock cannot be raised later (busy at once). */
  #inTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#exclusively(async () => {
      this.#refuseCallersTransaction();
      this.db.exec("begin immediate");
      try {
        const result = await work();
        this.db.exec("commit");
        return result;
      } catch (error) {
        if (this.db.isTransaction) this.db.exec("rollback");
        throw error;
      }
    });
  }

  /**
   * An in-memory database is shared with its owner, who may be in a transaction of their own: as good as busy, for what
   * we wrote there would go with it.
   */
  #refuseCallersTransaction(): void {
    if (!this.db.isTransaction) return;
    throw ownersTransaction();
  }

  #exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const patience = { pending: this.#pending, isPassing: isBusy, translate, waits: WAITS };
    return this.#pending.wait((isGivenUp) => {
      const mine = this.#turn.then(() => tryUntil(work, patience, isGivenUp));
      this.#turn = mine.catch(() => {});
      return mine;
    });
  }
}
