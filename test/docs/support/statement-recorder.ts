import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import mysql from "mysql2/promise";
import pg from "pg";
import { openStore } from "../../../src/store/open.ts";
import type { DatabaseName, Store } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";

/** A statement as the driver sends it. */
export interface RecordedStatement {
  text: string;
  params: readonly unknown[];
}

/** A store on connections that record every statement. */
export interface RecordingStore {
  store: Store;
  /** Returns the statements that the store sends while `work` runs. */
  record(work: () => Promise<unknown>): Promise<RecordedStatement[]>;
  /**
   * The statement that tells other processes of new runs. PostgreSQL's store sends it in the background some time after
   * an insert, so it is no part of a record.
   */
  announcement: Promise<RecordedStatement> | null;
  close(): Promise<void>;
}

type Listener = (statement: RecordedStatement) => void;

/** Opens a store on a pool of the test's: on such a pool the store sends one statement at a time, with placeholders. */
export async function openRecordingStore(
  database: DatabaseName,
  url: string,
  clock: Clock,
): Promise<RecordingStore> {
  let recorded: RecordedStatement[] | null = null;
  const announcement = Promise.withResolvers<RecordedStatement>();
  const listener: Listener = (statement) => {
    if (statement.text.includes("pg_notify")) announcement.resolve(statement);
    else recorded?.push(statement);
  };
  const { handle, end } = connections[database](url, listener);
  const store = await openStore(handle, { clock, prefix: "punctual_" });
  return {
    store,
    announcement: database === "postgres" ? announcement.promise : null,
    async record(work) {
      recorded = [];
      await work();
      const statements = recorded;
      recorded = null;
      return statements;
    },
    async close() {
      await store.close();
      await end();
    },
  };
}

interface Connections {
  handle: object;
  end(): Promise<void>;
}

/** Opens connections that call the listener with each statement, before it is sent. */
export const connections: Record<DatabaseName, (url: string, listener: Listener) => Connections> = {
  // A database in memory: the store uses the handle it is given, and opens no second one.
  sqlite: (_, listener) => {
    const db = new RecordingDatabase(listener);
    return { handle: db, end: async () => db.close() };
  },
  postgres: (url, listener) => {
    class RecordingClient extends pg.Client {
      // biome-ignore lint/suspicious/noExplicitAny: pg declares nine overloads.
      override query(config: any, ...rest: any[]): any {
        const { text = config, values = [] } = config as pg.QueryConfig;
        listener({ text: text as string, params: values });
        return (super.query as (...args: unknown[]) => unknown)(config, ...rest);
      }
    }
    const pool = new pg.Pool({ connectionString: url, max: 2, Client: RecordingClient } as pg.PoolConfig);
    // The test drops the database while the last connections of the pool close.
    pool.on("error", () => {});
    return { handle: pool, end: () => pool.end() };
  },
  mysql: recordMysql,
  mariadb: recordMysql,
};

class RecordingDatabase extends DatabaseSync {
  readonly #listener: Listener;

  constructor(listener: Listener) {
    super(":memory:");
    this.#listener = listener;
  }

  override exec(text: string): void {
    this.#listener({ text, params: [] });
    super.exec(text);
  }

  override prepare(text: string): ReturnType<DatabaseSync["prepare"]> {
    const statement = super.prepare(text);
    const recorded =
      (call: (...params: SQLInputValue[]) => unknown) =>
      (...params: SQLInputValue[]) => {
        this.#listener({ text, params });
        return call.apply(statement, params);
      };
    Object.assign(statement, {
      all: recorded(statement.all),
      get: recorded(statement.get),
      run: recorded(statement.run),
    });
    return statement;
  }
}

function recordMysql(uri: string, listener: Listener): Connections {
  const pool = mysql.createPool({ uri, connectionLimit: 2 });
  const getConnection = pool.getConnection.bind(pool);
  const recording = new WeakSet<object>();
  pool.getConnection = async () => {
    const connection = await getConnection();
    const { query, execute } = connection;
    if (recording.has(connection)) return connection;
    recording.add(connection);
    const wrap = (send: (...args: never[]) => unknown) =>
      function (this: unknown, options: { sql: string; values?: unknown[] }, ...rest: unknown[]) {
        listener({ text: options.sql, params: options.values ?? [] });
        return send.call(this, ...([options, ...rest] as never[]));
      };
    Object.assign(connection, {
      query: wrap(query.bind(connection)),
      execute: wrap(execute.bind(connection)),
    });
    return connection;
  };
  return { handle: pool, end: () => pool.end() };
}
