import type { Param } from "../sql/database.ts";
import type { PgClient, PgResult } from "./driver.ts";
import { type PreparedNames, query } from "./query.ts";

export interface Manner {
  /** How long an answer may take. */
  limit?: number | undefined;
  /** Statements with parameters stay prepared under these names; absent: none does. */
  prepared?: PreparedNames | undefined;
}

/**
 * The statements of one transaction, in order. Where the driver can, a statement leaves before those ahead of it are
 * answered: what nobody waits for costs no round trip.
 */
export class Conversation {
  readonly #client: PgClient;
  readonly #manner: Manner;
  #last: Promise<unknown> = Promise.resolve();
  #fault: { error: unknown } | null = null;

  constructor(client: PgClient, manner: Manner) {
    this.#client = client;
    this.#manner = manner;
  }

  /** The first fault is everybody's: what comes behind it in a transaction only fails because of it. */
  async send(text: string, params: Param[]): Promise<PgResult> {
    const { limit, prepared } = this.#manner;
    const ask = async () => {
      if (this.#fault) throw this.#fault.error;
      return query(this.#client, text, params, limit, params.length > 0 ? prepared : undefined);
    };
    const answer = this.#client.pipeline ? ask() : this.#last.then(ask);
    this.#last = answer;
    const result = await answer.catch((error) => {
      this.#fault ??= { error };
    });
    if (this.#fault) throw this.#fault.error;
    return result!;
  }

  /** What comes later is not sent: the connection may be another's by then. */
  end(): void {
    this.#fault ??= { error: new Error("The transaction is over.") };
  }

  /** A statement whose answer does not matter; its fault is told with the next one. */
  post(text: string, params: Param[]): void {
    this.send(text, params).catch(() => {});
  }
}
