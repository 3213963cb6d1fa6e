import {
  type Connections,
  endPool,
  type HeldConnection,
  ignoreErrorsOf,
  isPlainRead,
  PoolUsage,
} from "../server/connections.ts";
import type { MysqlConnection, MysqlCore, MysqlPool, MysqlPoolConnection } from "./driver.ts";
import { callerTransactionOpen } from "./errors.ts";
import { headerOf, IN_TRANSACTION, query, trackErrors } from "./query.ts";

export interface HeldMysqlConnection extends HeldConnection {
  connection: MysqlConnection;
}

export interface MysqlConnections extends Connections<HeldMysqlConnection> {
  /** The statement before `start transaction` that sets its isolation level; null: the session is ours and has it. */
  readonly isolationLevelStatement: string | null;
  /** Whether one packet may contain several statements. */
  readonly isMultiStatement: boolean;
  /** Most connections that can be open at a time. */
  readonly max: number;
}

/**
 * Settings of our own sessions. The modes are those that reject values instead of changing them. A lock wait ends after
 * 5 s; the statement is then retried.
 */
const SESSION = `set session sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
  session time_zone = '+00:00', session innodb_lock_wait_timeout = 5, session autocommit = 1`;

/** The connections of a pool of ours. Idle ones do not keep the process alive. */
export class OwnConnections implements MysqlConnections {
  readonly canReconnect = true;
  idleLosses = 0;
  readonly isolationLevelStatement = null;
  readonly isMultiStatement = true;
  readonly max: number;
  readonly #pool: MysqlPool;
  readonly #usage = new PoolUsage();
  /** Open connections whose session has our settings. */
  readonly #ready = new Set<object>();

  constructor(pool: MysqlPool, max: number) {
    this.#pool = pool;
    this.max = max;
  }

  async acquire(): Promise<HeldMysqlConnection> {
    const connection = await trackErrors(this.#pool.getConnection());
    const core = connection.connection;
    ignoreErrorsOf(core);
    core.stream?.ref?.();
    this.#usage.acquire();
    const release = (broken: boolean) => {
      this.#usage.release();
      if (broken) {
        this.#ready.delete(core);
        return connection.destroy();
      }
      core.stream?.unref?.();
      const isSurplus = this.#ready.size > this.#usage.needed();
      if (isSurplus && endGracefully(core)) this.#ready.delete(core);
      else connection.release();
    };
    if (!this.#ready.has(core)) {
      try {
        await query(connection, "set session transaction isolation level read committed", []);
        await query(connection, SESSION, []);
      } catch (error) {
        release(true);
        throw error;
      }
      this.#ready.add(core);
      core.on("end", () => {
        this.#ready.delete(core);
      });
      core.on("error", () => {
        this.#ready.delete(core);
        this.idleLosses++;
      });
    }
    return { connection, release };
  }

  close(): Promise<void> {
    return endPool(this.#pool);
  }
}

/**
 * Closes a connection of a pool in good order; false: this mysql2, before 3.15, can only cut it, which the server logs
 * as an aborted connection. The pool of mysql2 closes idle connections only with a timer that keeps the process alive.
 */
function endGracefully(core: MysqlCore): boolean {
  if (!core.end || core.config?.gracefulEnd === undefined) return false;
  core.config.gracefulEnd = true;
  core.end();
  return true;
}

/** Applies to the next transaction only: a session of the caller's keeps its own isolation level. */
const SET_NEXT_ISOLATION_LEVEL = "set transaction isolation level read committed";

/** The connections of a caller's pool. The caller closes it. */
export class PoolConnections implements MysqlConnections {
  readonly canReconnect = true;
  readonly idleLosses = 0;
  readonly isolationLevelStatement: string = SET_NEXT_ISOLATION_LEVEL;
  readonly isMultiStatement = false;
  readonly max: number;
  readonly #pool: MysqlPool;

  constructor(pool: MysqlPool) {
    this.#pool = pool;
    // The default of mysql2 is 10.
    this.max = pool.pool.config?.connectionLimit ?? 10;
    // On every acquire, also by the caller: a connection that we have used may break later, when it is idle.
    pool.pool.on("acquire", ignoreErrorsOf);
  }

  async acquire(): Promise<HeldMysqlConnection> {
    const connection: MysqlPoolConnection = await trackErrors(this.#pool.getConnection());
    ignoreErrorsOf(connection.connection);
    return {
      connection,
      release: (broken) => (broken ? connection.destroy() : connection.release()),
    };
  }

  async close(): Promise<void> {
    this.#pool.pool.removeListener("acquire", ignoreErrorsOf);
  }
}

/**
 * The one connection of a caller's. Transactions and statements of ours use it one after another. The caller's own
 * statements may come between them; a transaction of the caller's counts as a lock that ours wait for.
 */
export class OneConnection implements MysqlConnections {
  readonly canReconnect = false;
  readonly idleLosses = 0;
  readonly isolationLevelStatement: string = SET_NEXT_ISOLATION_LEVEL;
  readonly isMultiStatement = false;
  readonly max = 1;
  readonly #connection: MysqlConnection;
  /** Ends when the last holder has released the connection. */
  #released: Promise<void> = Promise.resolve();

  constructor(connection: MysqlConnection) {
    this.#connection = connection;
    ignoreErrorsOf(connection.connection);
  }

  async acquire(statement = ""): Promise<HeldMysqlConnection> {
    const before = this.#released;
    const { promise, resolve: release } = Promise.withResolvers<void>();
    this.#released = promise;
    await before;
    const held = { connection: this.#connection, release: () => release() };
    if (isPlainRead(statement)) return held;
    try {
      const { serverStatus } = headerOf(await query(this.#connection, "do 0", []));
      if (serverStatus & IN_TRANSACTION) await trackErrors(Promise.reject(callerTransactionOpen()));
    } catch (error) {
      release();
      throw error;
    }
    return held;
  }

  async close(): Promise<void> {}
}
