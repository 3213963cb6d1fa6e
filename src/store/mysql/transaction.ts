import type { Param, Statement } from "../sql/database.ts";
import { lengthOf, literally } from "./dialect.ts";
import type { MysqlConnection, MysqlResult } from "./driver.ts";
import { isDuplicate } from "./errors.ts";
import { query, querySeveral } from "./query.ts";

/** Up to so many characters it costs less to read a statement each time than to keep it prepared and send it by itself. */
export const LONGEST: number = 32 * 1024;

interface Letter extends Statement {
  /** Somebody waits for its answer. */
  isAwaited: boolean;
  resolve(result: MysqlResult): void;
  reject(error: unknown): void;
}

/**
 * The statements of one transaction, in order. Those whose answers nobody waits for leave together with the next one
 * whose answer somebody does, and so do all that are asked at once: in one packet, where the connection takes several.
 */
export class Conversation {
  readonly #connection: MysqlConnection;
  readonly #takesSeveral: boolean;
  #letters: Letter[] = [];
  #leaving = false;
  #last: Promise<void> = Promise.resolve();
  #fault: { error: unknown } | null = null;

  constructor(connection: MysqlConnection, takesSeveral: boolean) {
    this.#connection = connection;
    this.#takesSeveral = takesSeveral;
  }

  send(text: string, params: Param[]): Promise<MysqlResult> {
    const answer = this.#write(text, params, true);
    if (!this.#leaving) {
      this.#leaving = true;
      queueMicrotask(() => this.#leave());
    }
    return answer;
  }

  /** What comes later is not sent: the connection may be another's by then. */
  end(): void {
    this.#fault ??= { error: new Error("The transaction is over.") };
  }

  /** A statement whose answer does not matter; its fault is told with the next one. */
  post(text: string, params: Param[]): void {
    this.#write(text, params, false).catch(() => {});
  }

  #write(text: string, params: Param[], isAwaited: boolean): Promise<MysqlResult> {
    return new Promise((resolve, reject) => {
      this.#letters.push({ text, params, isAwaited, resolve, reject });
    });
  }

  #leave(): void {
    const letters = this.#letters;
    this.#letters = [];
    this.#leaving = false;
    this.#last = this.#last.then(() => this.#deliver(letters));
  }

  async #deliver(letters: Letter[]): Promise<void> {
    for (const packet of this.#pack(letters)) {
      if (!this.#fault) await this.#exchange(packet);
      for (const { reject } of this.#fault ? packet : []) reject(this.#fault!.error);
    }
  }

  async #exchange(packet: Letter[]): Promise<void> {
    try {
      const results = await this.#answersTo(packet);
      for (const [index, { resolve }] of packet.entries()) resolve(results[index]!);
    } catch (error) {
      const [letter, ...others] = packet as [Letter, ...Letter[]];
      // The server has taken back this one statement, and whoever waits for it can go on.
      if (letter.isAwaited && others.length === 0 && isDuplicate(error)) letter.reject(error);
      else this.#fault = { error };
    }
  }

  async #answersTo(packet: Letter[]): Promise<MysqlResult[]> {
    const [{ text, params }] = packet as [Letter, ...Letter[]];
    if (packet.length === 1) return [await query(this.#connection, text, params)];
    return querySeveral(this.#connection, packet.map(literally));
  }

  #pack(letters: Letter[]): Letter[][] {
    const packets: Letter[][] = [];
    let open = false;
    for (const letter of letters) {
      const fits = this.#takesSeveral && lengthOf(letter) <= LONGEST;
      if (open && fits) packets.at(-1)!.push(letter);
      else packets.push([letter]);
      open = fits;
    }
    return packets;
  }
}
