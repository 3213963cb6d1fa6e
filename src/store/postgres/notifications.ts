import { hash } from "node:crypto";
import { backoffCeiling } from "../../backoff.ts";
import { realRandom } from "../../random.ts";
import { systemClock } from "../../time.ts";
import type { Sql, Statement } from "../sql/database.ts";
import type { PgOwnClient } from "./driver.ts";

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

/** Shortest time between two notifications of a process, in milliseconds. Later announcements share the next one. */
const NOTIFY_INTERVAL = 5;

/** Does not wait for the disk: a notification may be lost in a crash. */
const NOTIFY = "select set_config('synchronous_commit', 'off', true), pg_notify(cast(? as text), '')";

/** Notifies other processes of new runs. A notification is a hint: workers that miss it poll a little later. */
export class Announcer {
  readonly #sql: Sql;
  readonly #channel: string;
  /** Resolves when all announcements so far were sent. */
  #sending: Promise<void> | null = null;
  #isDue = false;

  constructor(sql: Sql, channel: string) {
    this.#sql = sql;
    this.#channel = channel;
  }

  /**
   * Returns a notification for the caller to send right behind its insert; null: one was sent a moment ago, and
   * `announce` shares the next one.
   */
  statement(): Statement | null {
    if (this.#sending !== null) return null;
    this.#sending = interval().then(() => this.#send());
    return { text: NOTIFY, params: [this.#channel] };
  }

  /** Notifies within the caller's transaction, which delivers at its commit; null: by a statement of its own. */
  async announce(caller: Sql | null): Promise<void> {
    if (caller) {
      await caller.all("select cast(pg_notify(cast(? as text), '') as text) as told", this.#channel);
      return;
    }
    this.#isDue = true;
    this.#sending ??= this.#send();
  }

  /** Waits for the notifications that are due, before the connections close. */
  async close(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      const pause = interval();
      await this.#sql.run(NOTIFY, this.#channel).catch(() => {});
      await pause;
    }
    this.#sending = null;
  }
}

function interval(): Promise<void> {
  return new Promise((resolve) => systemClock.after(NOTIFY_INTERVAL, resolve));
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
      client.on("notification", () => {
        this.#isProven = true;
        this.#callAll();
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
