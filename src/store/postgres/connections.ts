import { PunctualError } from "../../errors.ts";
import { realRandom } from "../../random.ts";
import { sleepReal, systemClock } from "../../time.ts";
import {
  type Connections,
  endPool,
  type HeldConnection,
  ignoreErrorsOf,
  isPlainRead,
} from "../server/connections.ts";
import type { PgClient, PgPool, PgPoolClient } from "./driver.ts";

export interface HeldClient extends HeldConnection {
  client: PgClient;
  /**
   * Turns pg's pipeline mode off before the first statement of a transaction that the caller shares: cursors and the
   * like do not work in pipeline mode.
   */
  stopPipelining(): void;
}

export type PgConnections = Connections<HeldClient>;

/** The connections of a pool: one of ours (`isOurs`), or the caller's. */
export class PoolConnections implements PgConnections {
  readonly canReconnect = true;
  idleLosses = 0;
  readonly #pool: PgPool;
  readonly #isOurs: boolean;
  readonly #countLoss = (): void => {
    this.idleLosses++;
  };

  constructor(pool: PgPool, isOurs: boolean) {
    this.#pool = pool;
    this.#isOurs = isOurs;
    pool.on("error", this.#countLoss);
    // The pool removes its own error listener before connect() returns the client. An error in that same packet would
    // have no listener if we waited for the client.
    pool.on("acquire", ignoreErrorsOf);
  }

  async acquire(): Promise<HeldClient> {
    const client: PgPoolClient = await this.#pool.connect();
    const canPipeline = this.#isOurs && client.pipeline === true;
    const setPipelining = (on: boolean) => {
      if (canPipeline) client.pipeline = on;
    };
    return {
      client,
      stopPipelining: () => setPipelining(false),
      release: (broken) => {
        setPipelining(true);
        client.release(broken);
      },
    };
  }

  /** Leaves a pool of the caller's open. */
  async close(): Promise<void> {
    if (this.#isOurs) return endPool(this.#pool);
    this.#pool.removeListener("error", this.#countLoss);
    this.#pool.removeListener("acquire", ignoreErrorsOf);
  }
}

/** Longest wait for the one connection while others use it, in milliseconds. */
const TURN_TIMEOUT = 30_000;

/**
 * The one connection of a caller's `Client`. Transactions and statements of ours use it one after another. The caller's
 * own statements may come between them; ours wait while the caller has a transaction open.
 */
export class OneConnection implements PgConnections {
  readonly canReconnect = false;
  readonly idleLosses = 0;
  readonly #client: PgClient;
  readonly #waiting: (() => void)[] = [];
  #isHeld = false;

  constructor(client: PgClient) {
    this.#client = client;
    ignoreErrorsOf(client);
  }

  async acquire(statement = ""): Promise<HeldClient> {
    if (this.#isHeld) await this.#turn();
    this.#isHeld = true;
    if (!isPlainRead(statement)) await this.#untilCallerHasCommitted();
    let isReleased = false;
    return {
      client: this.#client,
      stopPipelining: () => {},
      release: () => {
        if (!isReleased) this.#release();
        isReleased = true;
      },
    };
  }

  async close(): Promise<void> {}

  async #untilCallerHasCommitted(): Promise<void> {
    const since = systemClock.monotonic();
    const isInTransaction = () => ["T", "E"].includes(this.#client.getTransactionStatus?.() ?? "");
    while (isInTransaction()) {
      if (systemClock.monotonic() - since > TURN_TIMEOUT) {
        this.#release();
        throw busy("a transaction of yours is open on it");
      }
      await sleepReal(1 + realRandom() * 10);
    }
  }

  #release(): void {
    this.#isHeld = false;
    this.#waiting.shift()?.();
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const onTurn = () => {
        cancel();
        // Set here, not by the caller of #turn: another acquire() may run before that caller resumes.
        this.#isHeld = true;
        resolve();
      };
      const cancel = systemClock.after(TURN_TIMEOUT, () => {
        this.#waiting.splice(this.#waiting.indexOf(onTurn), 1);
        reject(busy("earlier statements of Punctual were still running on it"));
      });
      this.#waiting.push(onTurn);
    });
  }
}

function busy(reason: string): PunctualError {
  return new PunctualError(
    "DATABASE_BUSY",
    `The only PostgreSQL connection that Punctual was given was not free for ${TURN_TIMEOUT / 1000} s: ${reason}. Pass a Pool instead of a Client.`,
  );
}
