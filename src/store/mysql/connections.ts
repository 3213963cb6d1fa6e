import { systemClock } from "../../time.ts";
import type { MysqlConnection, MysqlCore, MysqlPool, MysqlPoolConnection } from "./driver.ts";
import { ownersTransaction } from "./errors.ts";
import { headerOf, IN_TRANSACTION, ours, query } from "./query.ts";

/** A connection that is one transaction's until it is given back. */
export interface Held {
  connection: MysqlConnection;
  /** Broken: it is not used again. */
  giveBack(broken: boolean): void;
}

export interface Connections {
  /** Whether a new connection can be had when one was lost. */
  readonly renewable: boolean;
  /** How many were lost while no statement was under way, as far as it is known. */
  readonly idleLosses: number;
  /** What precedes `start transaction`. */
  readonly isolate: string | null;
  /** Whether one packet may have several statements in it. */
  readonly takesSeveral: boolean;
  /** How many there are at most. */
  readonly most: number;
  /** For one statement, where it is given; else for a transaction. */
  take(statement?: string): Promise<Held>;
  close(): Promise<void>;
}

/** A connection that breaks while nobody waits for an answer tells it by an event, and one without a listener ends the process. */
const ignore = (): void => {};

const heard = new WeakSet<object>();

function listenTo(core: MysqlCore): void {
  if (heard.has(core)) return;
  heard.add(core);
  core.on("error", ignore);
}

/** How long the connections of a pool may take to end in good order. */
const FAREWELL = 5000;

/** Of the modes only those that refuse instead of guessing; and a row that stays locked is soon met with another try. */
const SESSION = `set session sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
  session time_zone = '+00:00', session innodb_lock_wait_timeout = 5, session autocommit = 1`;

/** A pool of our own: its connections have the settings of ours, and do not keep the process alive while they are idle. */
export class OwnConnections implements Connections {
  readonly renewable = true;
  idleLosses = 0;
  readonly isolate = null;
  readonly takesSeveral = true;
  readonly most: number;
  readonly #pool: MysqlPool;
  readonly #ready = new WeakSet<object>();

  constructor(pool: MysqlPool, most: number) {
    this.#pool = pool;
    this.most = most;
  }

  async take(): Promise<Held> {
    const connection = await ours(this.#pool.getConnection());
    const core = connection.connection;
    listenTo(core);
    core.stream?.ref?.();
    const giveBack = (broken: boolean) => {
      if (broken) return connection.destroy();
      core.stream?.unref?.();
      connection.release();
    };
    if (!this.#ready.has(core)) {
      try {
        await query(connection, "set session transaction isolation level read committed", []);
        await query(connection, SESSION, []);
      } catch (error) {
        giveBack(true);
        throw error;
      }
      this.#ready.add(core);
      core.on("error", () => {
        this.idleLosses++;
      });
    }
    return { connection, giveBack };
  }

  /** The timer keeps the process alive meanwhile: idle connections do not. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = systemClock.after(FAREWELL, resolve);
      this.#pool
        .end()
        .catch(ignore)
        .then(() => {
          cancel();
          resolve();
        });
    });
  }
}

/** For the next transaction only, so that nothing of it stays on a connection of the caller's. */
const ISOLATE_NEXT = "set transaction isolation level read committed";

/** A pool of the caller's, who closes it. */
export class PoolConnections implements Connections {
  readonly renewable = true;
  readonly idleLosses = 0;
  readonly isolate: string = ISOLATE_NEXT;
  readonly takesSeveral = false;
  readonly most: number;
  readonly #pool: MysqlPool;

  constructor(pool: MysqlPool) {
    this.#pool = pool;
    // What mysql2 takes where nothing is said.
    this.most = pool.pool.config?.connectionLimit ?? 10;
    // Also those that others take: a connection that we have used stays in the pool, and dies there.
    pool.pool.on("acquire", listenTo);
  }

  async take(): Promise<Held> {
    const connection: MysqlPoolConnection = await ours(this.#pool.getConnection());
    listenTo(connection.connection);
    return {
      connection,
      giveBack: (broken) => (broken ? connection.destroy() : connection.release()),
    };
  }

  async close(): Promise<void> {
    this.#pool.pool.removeListener("acquire", listenTo);
  }
}

/** What reads and locks nothing does no harm in a transaction of the caller's, who may be waiting for it there. */
const READS = /^select\b(?![\s\S]*\bfor update\b)/;

/**
 * The one connection of a caller's: everything goes through it in turn. What the caller sends on it meanwhile comes in
 * between; a transaction of theirs is waited for, as for a lock.
 */
export class OneConnection implements Connections {
  readonly renewable = false;
  readonly idleLosses = 0;
  readonly isolate: string = ISOLATE_NEXT;
  readonly takesSeveral = false;
  readonly most = 1;
  readonly #connection: MysqlConnection;
  #turn: Promise<void> = Promise.resolve();

  constructor(connection: MysqlConnection) {
    this.#connection = connection;
    listenTo(connection.connection);
  }

  async take(statement = ""): Promise<Held> {
    const before = this.#turn;
    let done = ignore;
    this.#turn = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    if (READS.test(statement)) return { connection: this.#connection, giveBack: () => done() };
    try {
      const { serverStatus } = headerOf(await query(this.#connection, "do 0", []));
      if (serverStatus & IN_TRANSACTION) await ours(Promise.reject(ownersTransaction()));
    } catch (error) {
      done();
      throw error;
    }
    return { connection: this.#connection, giveBack: () => done() };
  }

  async close(): Promise<void> {}
}
