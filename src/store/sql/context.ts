import type { Database, Param, Sql, Tables, Transaction, TransactionOptions } from "./database.ts";

/**
 * Runs statements on the database itself, each on its own, or in one transaction. It carries the dialect (`db`)
 * and the names of the tables (`t`), so that a function which writes SQL takes one argument for all three.
 */
export class SqlContext<Db extends Database = Database> implements Sql {
  readonly db: Db;
  readonly t: Tables;
  readonly #sql: Sql;

  constructor(db: Db, tables: Tables, sql: Sql = db) {
    this.db = db;
    this.t = tables;
    this.#sql = sql;
  }

  all<Row>(text: string, ...params: Param[]): Promise<Row[]> {
    return this.#sql.all<Row>(text, ...params);
  }

  run(text: string, ...params: Param[]): Promise<void> {
    return this.#sql.run(text, ...params);
  }

  /** See `Transaction`. */
  missed(): void {
    (this.#sql as Partial<Transaction>).missed?.();
  }

  /** The same database and tables, on another connection or in a transaction that is already open. */
  on(sql: Sql): SqlContext<Db> {
    return new SqlContext(this.db, this.t, sql);
  }

  /**
   * Calls `work` with the context of a new transaction. As `Database.transaction`, it may call `work` more than once.
   */
  transaction<Result>(
    work: (tx: SqlContext<Db>) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> {
    return this.db.transaction((tx: Transaction) => work(this.on(tx)), options);
  }
}
