import { PunctualError } from "../../errors.ts";
import { sleepReal, systemClock } from "../../time.ts";
import type { PgClient, PgPool, PgPoolClient } from "./driver.ts";

/** A connection that is one transaction's until it is given back. */
export interface Held {
  client: PgClient;
  /** Makes it one as callers know them, before any statement: cursors and the like do not go with a pipeline. */
  lend(): void;
  /** Broken: it is not used again. */
  giveBack(broken: boolean): void;
}

export interface Connections {
  /** Whether a new connection can be had when one was lost. */
  readonly renewable: boolean;
  /** How many were lost while no statement was under way, as far as it is known. */
  readonly idleLosses: number;
  /** For one statement, where it is given; else for a transaction. */
  take(statement?: string): Promise<Held>;
  close(): Promise<void>;
}

/** A connection that breaks while nobody waits for an answer tells it by an event, and one without a listener ends the process. */
const ignore = (): void => {};

const heard = new WeakSet<object>();

function listenTo(client: PgClient): void {
  if (heard.has(client)) return;
  heard.add(client);
  client.on("error", ignore);
}

/** How long the connections of a pool may take to end in good order. */
const FAREWELL = 5000;

export class PoolConnections implements Connections {
  readonly renewable = true;
  idleLosses = 0;
  readonly #pool: PgPool;
  readonly #ours: boolean;
  readonly #countLoss = (): void => {
    this.idleLosses++;
  };

  constructor(pool: PgPool, ours: boolean) {
    this.#pool = pool;
    this.#ours = ours;
    pool.on("error", this.#countLoss);
    // The pool stops listening as it hands a connection over, and what comes with the same packet is told before we have it.
    pool.on("acquire", listenTo);
  }

  async take(): Promise<Held> {
    const client: PgPoolClient = await this.#pool.connect();
    const pipelined = this.#ours && client.pipeline === true;
    const hurry = (yes: boolean) => {
      if (pipelined) client.pipeline = yes;
    };
    return {
      client,
      lend: () => hurry(false),
      giveBack: (broken) => {
        hurry(true);
        client.release(broken);
      },
    };
  }

  /** A pool of the caller's stays open. */
  async close(): Promise<void> {
    if (!this.#ours) {
      this.#pool.removeListener("error", this.#countLoss);
      this.#pool.removeListener("acquire", listenTo);
      return;
    }
    // The timer keeps the process alive meanwhile: idle connections do not.
    await new Promise<void>((resolve) => {
      const cancel = systemClock.after(FAREWELL, resolve);
      this.#pool
        .end()
        .catch(() => {})
        .then(() => {
          cancel();
          resolve();
        });
    });
  }
}

/** How long one waits for a turn on the one connection. */
const PATIENCE = 30_000;

/** What reads and locks nothing does no harm in a transaction of the caller's, who may be waiting for it there. */
const READS = /^select\b(?![\s\S]*\bfor update\b)/;

/**
 * The one connection of a caller's `Client`: everything goes through it in turn. What the caller sends on it meanwhile
 * comes in between; a transaction of theirs is waited for.
 */
export class OneConnection implements Connections {
  readonly renewable = false;
  readonly idleLosses = 0;
  readonly #client: PgClient;
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  constructor(client: PgClient) {
    this.#client = client;
    listenTo(client);
  }

  async take(statement = ""): Promise<Held> {
    if (this.#taken) await this.#turn();
    this.#taken = true;
    if (!READS.test(statement)) await this.#untilCallerIsDone();
    let held = true;
    return {
      client: this.#client,
      lend: ignore,
      giveBack: () => {
        if (held) this.#giveBack();
        held = false;
      },
    };
  }

  async close(): Promise<void> {}

  async #untilCallerIsDone(): Promise<void> {
    const since = systemClock.monotonic();
    const inTransaction = () => ["T", "E"].includes(this.#client.getTransactionStatus?.() ?? "");
    while (inTransaction()) {
      if (systemClock.monotonic() - since > PATIENCE) {
        this.#giveBack();
        throw busy("a transaction of your own is open on it");
      }
      await sleepReal(1 + Math.random() * 10);
    }
  }

  #giveBack(): void {
    this.#taken = false;
    this.#waiting.shift()?.();
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const mine = () => {
        cancel();
        // Before anybody who comes meanwhile.
        this.#taken = true;
        resolve();
      };
      const cancel = systemClock.after(PATIENCE, () => {
        this.#waiting.splice(this.#waiting.indexOf(mine), 1);
        reject(busy("others were in its turn before"));
      });
      this.#waiting.push(mine);
    });
  }
}

function busy(why: string): PunctualError {
  return new PunctualError(
    "DATABASE_BUSY",
    `The one PostgreSQL connection that Punctual was given stayed in use: ${why}. Give Punctual a Pool instead of a Client.`,
  );
}
