import { PunctualError } from "../../errors.ts";
import { systemClock } from "../../time.ts";
import type { HostReport } from "../maintenance.ts";
import type { Connections, HeldConnection } from "./connections.ts";

/** Longest a host of a list may take to tell its role, in milliseconds. */
const ASK_TIMEOUT = 3000;

/** The part that a driver provides. */
export interface HostDriver<Pool> {
  /** The hosts, as messages name them. */
  names: string[];
  /** Opens the connections to one host; connects when one is acquired. */
  open(index: number): Pool;
  /** Asks one host whether it can be written. Rejects with the driver's error: it tells whether a retry may succeed. */
  isWriter(index: number): Promise<boolean>;
  /** Whether the host may accept a connection a moment later. */
  isLost(error: unknown): boolean;
  /** Whether the address looks wrong. */
  isMisconfiguration(error: unknown): boolean;
  /** The error that the server gives for a write to a read-only host. */
  readOnlyError(): Error;
  /** The reason of an error, in a few words. */
  describe(error: unknown): string;
  /** Rejects with the error after the driver has recorded it as its own. Absent: the driver keeps no such record. */
  track?(error: unknown): Promise<never>;
}

type Answer = { isWriter: boolean } | { error: unknown };

/** The host that can be written, with its connections. */
interface Writer<Pool> {
  index: number;
  pool: Pool;
  /** `idleLosses` of the pool when the host last said that it can be written. */
  losses: number;
}

/**
 * The connections to the one host of a list that can be written. It asks all hosts at once, and again after each lost
 * connection: the writer may have moved.
 */
export class HostConnections<Held extends HeldConnection, Pool extends Connections<Held>>
  implements Connections<Held>
{
  readonly canReconnect = true;
  readonly #driver: HostDriver<Pool>;
  #writer: Writer<Pool> | null = null;
  /** False: a connection was lost since, and another host may be the writer by now. */
  #isCertain = false;
  #searching: Promise<Pool> | null = null;
  /** Idle losses of pools that were closed. */
  #earlierLosses = 0;

  constructor(driver: HostDriver<Pool>) {
    this.#driver = driver;
  }

  get idleLosses(): number {
    return this.#earlierLosses + (this.#writer?.pool.idleLosses ?? 0);
  }

  async acquire(statement?: string): Promise<Held> {
    const pool = await this.#openWriter();
    try {
      const held = await pool.acquire(statement);
      return {
        ...held,
        release: (broken: boolean) => {
          if (broken) this.#isCertain = false;
          held.release(broken);
        },
      };
    } catch (error) {
      this.#isCertain = false;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#searching?.catch(() => {});
    await this.#writer?.pool.close();
  }

  /** Returns the host of the current connections; the first one if none was found yet. */
  get current(): number {
    return this.#writer?.index ?? 0;
  }

  /** Asks every host for its role. */
  async report(): Promise<HostReport[]> {
    const { names, isWriter, describe } = this.#driver;
    const answers = await Promise.all(names.map((_, index) => answerOf(isWriter(index))));
    return answers.map((answer, index) => {
      const host = names[index]!;
      if ("error" in answer) return { host, role: "unreachable", reason: describe(answer.error) };
      return { host, role: answer.isWriter ? "writer" : "read-only", reason: null };
    });
  }

  async #openWriter(): Promise<Pool> {
    const writer = this.#writer;
    if (writer && this.#isCertain && writer.pool.idleLosses === writer.losses) return writer.pool;
    this.#searching ??= this.#search().finally(() => {
      this.#searching = null;
    });
    return this.#searching;
  }

  async #search(): Promise<Pool> {
    const index = await this.#find();
    const known = this.#writer;
    if (known?.index !== index) {
      this.#writer = { index, pool: this.#driver.open(index), losses: 0 };
      if (known) {
        this.#earlierLosses += known.pool.idleLosses + 1;
        // Statements under way there end first.
        void known.pool.close();
      }
    }
    const { pool } = this.#writer!;
    this.#writer!.losses = pool.idleLosses;
    this.#isCertain = true;
    return pool;
  }

  /** Returns the first host that answers that it can be written. */
  async #find(): Promise<number> {
    const answers = this.#driver.names.map((_, index) => answerOf(this.#driver.isWriter(index)));
    const found = Promise.withResolvers<number | null>();
    for (const [index, answer] of answers.entries()) {
      void answer.then((one) => "isWriter" in one && one.isWriter && found.resolve(index));
    }
    void Promise.all(answers).then(() => found.resolve(null));
    const index = await found.promise;
    if (index !== null) return index;
    const error = this.#noWriter(await Promise.all(answers));
    await this.#driver.track?.(error);
    throw error;
  }

  #noWriter(answers: Answer[]): unknown {
    const { names, isLost, isMisconfiguration, readOnlyError, describe } = this.#driver;
    const errors = answers.flatMap((answer) => ("error" in answer ? [answer.error] : []));
    const refusal = errors.find((error) => !isLost(error));
    if (refusal !== undefined) return refusal;
    const roles = answers.map(
      (answer, index) =>
        `${names[index]} ${"error" in answer ? `does not answer (${describe(answer.error)})` : "is read-only"}`,
    );
    const cause = errors.find((error) => !isMisconfiguration(error)) ?? errors[0] ?? readOnlyError();
    // While a host is away, the others may only be waiting for their promotion.
    return new PunctualError(
      errors.length === 0 ? "DATABASE_READ_ONLY" : "DATABASE_UNAVAILABLE",
      `No host in the URL can be written: ${roles.join(", ")}. Start or promote the primary, or correct the list.`,
      { cause },
    );
  }
}

/** Rejects if a host has not told its role within `ASK_TIMEOUT`. */
export async function answerInTime(asking: Promise<boolean>): Promise<boolean> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timedOut = () =>
    Object.assign(new Error(`no answer within ${ASK_TIMEOUT / 1000} s`), { code: "ETIMEDOUT" });
  const cancel = systemClock.after(ASK_TIMEOUT, () => reject(timedOut()));
  try {
    return await Promise.race([asking, late]);
  } finally {
    cancel();
  }
}

async function answerOf(asked: Promise<boolean>): Promise<Answer> {
  try {
    return { isWriter: await asked };
  } catch (error) {
    return { error };
  }
}
