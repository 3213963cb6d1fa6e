import { hash } from "node:crypto";
import { systemClock } from "../../time.ts";
import type { Sql } from "../sql/database.ts";
import type { PgOwnClient } from "./driver.ts";

/** Longer names are refused. */
const LONGEST_CHANNEL = 63;

/** One for each set of tables; two of one name in different schemas of a search path wake each other, which does no harm. */
export function channelOf(schema: string | null, prefix: string): string {
  const name = `${schema === null ? "" : `${schema}.`}${prefix.toLowerCase()}runs`;
  return name.length <= LONGEST_CHANNEL ? name : `punctual_${hash("sha256", name, "hex").slice(0, 32)}`;
}

/** A process tells at most this often; what comes meanwhile is told together. */
const SPACING = 5;

/** Tells others of new runs. It is a hint: where it does not arrive, they look by themselves a little later. */
export class Announcer {
  readonly #sql: Sql;
  readonly #channel: string;
  /** Ends when nothing is left to tell. */
  #telling: Promise<void> | null = null;
  #more = false;

  constructor(sql: Sql, channel: string) {
    this.#sql = sql;
    this.#channel = channel;
  }

  /** In the caller's transaction it is heard when that commits; otherwise nobody waits for it. */
  async announce(caller: Sql | null): Promise<void> {
    if (caller) {
      await caller.all("select cast(pg_notify(cast(? as text), '') as text) as told", this.#channel);
      return;
    }
    this.#more = true;
    this.#telling ??= this.#tell();
  }

  /** What was announced is told before the connections end. */
  async close(): Promise<void> {
    await this.#telling;
  }

  async #tell(): Promise<void> {
    while (this.#more) {
      this.#more = false;
      const spaced = new Promise<void>((resolve) => systemClock.after(SPACING, resolve));
      // A hint need not wait for the disk.
      const text = "select set_config('synchronous_commit', 'off', true), pg_notify(cast(? as text), '')";
      await this.#sql.run(text, this.#channel).catch(() => {});
      await spaced;
    }
    this.#telling = null;
  }
}

const FIRST_WAIT = 100;
const LONGEST_WAIT = 30_000;

/** How often the connection is tried, for nothing else is sent on it; and how long the answer may take. */
const HEARTBEAT = 30_000;
const LONGEST_ANSWER = 10_000;

/**
 * Hears others' announcements, on a connection of its own that is there while somebody listens and does not keep the
 * process alive. Where it cannot be had, nothing is heard; it is tried again and again.
 */
export class Listener {
  readonly #connect: () => PgOwnClient;
  readonly #channel: string;
  readonly #listeners = new Set<() => void>();
  #client: PgOwnClient | null = null;
  #cancel: () => void = () => {};
  #faults = 0;

  constructor(connect: () => PgOwnClient, channel: string) {
    this.#connect = connect;
    this.#channel = channel;
  }

  listen(onChange: () => void): () => void {
    // A function of its own for each: the same one may listen twice.
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
      client.on("error", () => this.#lost(mine));
      client.on("end", () => this.#lost(mine));
      client.on("notification", () => this.#tellAll());
      client.unref?.();
      await client.connect();
      // With TLS it is another socket by now.
      client.unref?.();
      await client.query({ text: `listen "${this.#channel}"`, query_timeout: LONGEST_ANSWER });
      if (this.#client !== client) return;
      this.#faults = 0;
      // What came before somebody listened, or while nobody could.
      this.#tellAll();
      this.#beat(client);
    } catch {
      this.#lost(client ?? null);
    }
  }

  #beat(client: PgOwnClient): void {
    this.#cancel = systemClock.after(
      HEARTBEAT,
      () => {
        client.query({ text: "select 1", query_timeout: LONGEST_ANSWER }).then(
          () => this.#client === client && this.#beat(client),
          () => this.#lost(client),
        );
      },
      { background: true },
    );
  }

  #lost(client: PgOwnClient | null): void {
    if (this.#client !== client) return;
    this.#drop();
    if (this.#listeners.size === 0) return;
    const wait = Math.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#faults++);
    this.#cancel = systemClock.after(wait, () => void this.#open(), { background: true });
  }

  #drop(): void {
    this.#cancel();
    this.#cancel = () => {};
    const client = this.#client;
    this.#client = null;
    client?.end().catch(() => {});
  }

  #tellAll(): void {
    for (const listener of this.#listeners) listener();
  }
}
