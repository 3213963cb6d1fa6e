import { hash } from "node:crypto";
import { backoffCeiling } from "../../backoff.ts";
import { realRandom } from "../../random.ts";
import { sleepReal, systemClock } from "../../time.ts";
import type { Sql, Statement } from "../sql/database.ts";
import type { PgOwnClient } from "./driver.ts";
import { WakeSpread } from "./wake-spread.ts";

/** PostgreSQL rejects longer channel names. */
const MAX_CHANNEL_LENGTH = 63;

/**
 * Returns the name of the notification channel of these tables. Tables of the same name in two schemas of a search path
 * share a channel; their workers wake up needlessly, and find nothing.
 */
export function channelOf(schema: string | null, prefix: string): string {
  const name = `${schema === null ? "" : `${schema}.`}${prefix.toLowerCase()}runs`;
  return name.length <= MAX_CHANNEL_LENGTH ? name : `punctual_${hash("sha256", name, "hex").slice(0, 32)}`;
}

/** Time after a notification until inserts that followed it cause a statement of its own, in milliseconds. */
const NOTIFY_INTERVAL = 5;

/**
 * Time after a notification from which an insert takes the next one along. It is shorter, so that a process which
 * dispatches all the time sends no statement of its own.
 */
const ATTACH_AFTER = 4;

/** Does not wait for the disk: a notification may be lost in a crash. */
const NOTIFY =
  "select set_config('synchronous_commit', 'off', true), pg_notify(cast(? as text), cast(? as text))";

/** Every worker wakes up. */
const EVERYONE = Number.POSITIVE_INFINITY;

/** The payload of a notification is the number of runs it announces; empty: every worker must look. */
function payloadOf(runs: number): string {
  return runs === EVERYONE ? "" : String(runs);
}

/** Returns null for a notification that every worker must see, which every one of an older version is. */
function runsIn(payload: string | undefined): number | null {
  return payload && /^\d+$/.test(payload) ? Number(payload) : null;
}

/** Notifies other processes of new runs. A notification is a hint: workers that miss it poll a little later. */
export class Announcer {
  readonly #sql: Sql;
  readonly #channel: string;
  /** When the last notification was sent, on the monotonic clock. */
  #sentAt = Number.NEGATIVE_INFINITY;
  /** Number of runs that were announced since then; null: nothing is to be sent. */
  #due: number | null = null;
  /** Resolves when all announcements so far were sent. */
  #sending: Promise<void> | null = null;

  constructor(sql: Sql, channel: string) {
    this.#sql = sql;
    this.#channel = channel;
  }

  /**
   * Returns a notification of new runs for the caller to send right behind its insert; null: one was sent a moment ago,
   * and `announce` shares the next one.
   */
  statement(runs: number): Statement | null {
    if (this.#age < ATTACH_AFTER) return null;
    return { text: NOTIFY, params: this.#take(runs) };
  }

  /**
   * Notifies within the caller's transaction, which delivers at its commit; null: by a statement of its own. `runs`:
   * how many are new; null: something has changed that every worker must see.
   */
  async announce(caller: Sql | null, runs: number | null): Promise<void> {
    const count = runs ?? EVERYONE;
    if (caller) {
      const text = "select cast(pg_notify(cast(? as text), cast(? as text)) as text) as told";
      await caller.all(text, this.#channel, payloadOf(count));
      return;
    }
    this.#due = (this.#due ?? 0) + count;
    this.#sending ??= this.#send();
  }

  /** Waits for the notifications that are due, before the connections close. */
  async close(): Promise<void> {
    await this.#sending;
  }

  /** Sends what is due, unless an insert takes it along meanwhile. */
  async #send(): Promise<void> {
    while (this.#due !== null) {
      const wait = NOTIFY_INTERVAL - this.#age;
      if (wait > 0) await sleepReal(wait);
      else await this.#sql.run(NOTIFY, ...this.#take(0)).catch(() => {});
    }
    this.#sending = null;
  }

  /** Returns the parameters of the next notification, which announces everything that is due. */
  #take(runs: number): [string, string] {
    const count = (this.#due ?? 0) + runs;
    this.#sentAt = systemClock.monotonic();
    this.#due = null;
    return [this.#channel, payloadOf(count)];
  }

  get #age(): number {
    return systemClock.monotonic() - this.#sentAt;
  }
}

/** Waits between tries to connect, in milliseconds. */
const RECONNECT = { first: 100, longest: 30_000 };

/** How often the idle connection is tested, in milliseconds: without traffic a loss would go unnoticed. */
const HEARTBEAT = 30_000;
const HEARTBEAT_TIMEOUT = 10_000;

/**
 * Listens for notifications on a connection of its own, which is open while there are listeners and does not keep the
 * process alive. While it cannot connect it retries, and the workers rely on polling.
 */
export class Listener {
  readonly #connect: () => PgOwnClient;
  readonly #channel: string;
  readonly #announce: () => void;
  readonly #listeners = new Set<() => void>();
  #client: PgOwnClient | null = null;
  /** Cancels the next heartbeat, or the next try to connect. */
  #cancel: () => void = () => {};
  #failures = 0;
  #isProven = false;
  readonly #spread = new WakeSpread(() => this.#callAll());

  /** `announce` sends a notification on another connection. */
  constructor(connect: () => PgOwnClient, channel: string, announce: () => void) {
    this.#connect = connect;
    this.#channel = channel;
    this.#announce = announce;
  }

  /** Whether a notification has arrived on this connection. Through PgBouncer in transaction mode none does. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Takes the number of live workers: the more there are, the fewer of them a notification wakes at once. */
  crowd(workers: number): void {
    this.#spread.workers = workers;
  }

  listen(onChange: () => void): () => void {
    // A new function for each call: the same `onChange` may be passed twice.
    const listener = () => onChange();
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) void this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#drop();
    };
  }

  close(): void {
    this.#listeners.clear();
    this.#drop();
  }

  async #open(): Promise<void> {
    let client: PgOwnClient | undefined;
    try {
      client = this.#connect();
      this.#client = client;
      const mine = client;
      client.on("error", () => this.#onLost(mine));
      client.on("end", () => this.#onLost(mine));
      client.on("notification", ({ payload }) => {
        this.#isProven = true;
        this.#spread.notified(runsIn(payload));
      });
      client.unref?.();
      await client.connect();
      // Once more: with TLS the client now has another socket.
      client.unref?.();
      await client.query({ text: `listen "${this.#channel}"`, query_timeout: HEARTBEAT_TIMEOUT });
      if (this.#client !== client) return;
      this.#failures = 0;
      // Counts as a change: notifications sent before `listen` were missed.
      this.#callAll();
      this.#announce();
      this.#beat(client);
    } catch {
      this.#onLost(client ?? null);
    }
  }

  #beat(client: PgOwnClient): void {
    this.#cancel = systemClock.after(
      HEARTBEAT,
      () => {
        client.query({ text: "select 1", query_timeout: HEARTBEAT_TIMEOUT }).then(
          () => this.#client === client && this.#beat(client),
          () => this.#onLost(client),
        );
      },
      { background: true },
    );
  }

  #onLost(client: PgOwnClient | null): void {
    if (this.#client !== client) return;
    this.#drop();
    if (this.#listeners.size === 0) return;
    const wait = realRandom() * backoffCeiling(++this.#failures, RECONNECT);
    this.#cancel = systemClock.after(wait, () => void this.#open(), { background: true });
  }

  #drop(): void {
    this.#spread.stop();
    this.#cancel();
    this.#cancel = () => {};
    const client = this.#client;
    this.#isProven = false;
    this.#client = null;
    client?.end().catch(() => {});
  }

  #callAll(): void {
    for (const listener of this.#listeners) listener();
  }
}
