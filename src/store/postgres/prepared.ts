import { createHash } from "node:crypto";

/** So many statements stay prepared on a connection at most: the driver never gives one up. */
const MOST = 200;

/** How often a text has to come before it is worth it: lists of parameters differ in length, so there is no end of texts. */
const OFTEN = 3;

/**
 * Names for statements that come again and again. Planning costs most of a small statement's time, and a prepared one
 * is planned once. The name is made from the text: behind a pooler that mixes up sessions, a name can only ever mean
 * the statement it was made from.
 */
export class PreparedNames {
  readonly #seen = new Map<string, number | string>();
  readonly #renewed = new Map<string, number>();
  #count = 0;
  #off = false;

  nameOf(text: string): string | undefined {
    if (this.#off) return undefined;
    const seen = this.#seen.get(text) ?? 0;
    if (typeof seen === "string") return seen;
    if (seen + 1 < OFTEN || this.#count >= MOST) {
      if (this.#seen.size < 10 * MOST) this.#seen.set(text, seen + 1);
      return undefined;
    }
    this.#count++;
    return this.#make(text, 0);
  }

  /** Gives the statement another name, under which each session prepares it again. */
  renew(text: string): void {
    if (typeof this.#seen.get(text) === "string") this.#make(text, (this.#renewed.get(text) ?? 0) + 1);
  }

  #make(text: string, version: number): string {
    const hash = createHash("sha256").update(version === 0 ? text : `${version} ${text}`);
    const name = `punctual_${hash.digest("hex").slice(0, 32)}`;
    this.#seen.set(text, name);
    if (version > 0) this.#renewed.set(text, version);
    return name;
  }

  /** A pooler gives each transaction to another session, which knows nothing of the names. */
  stop(): void {
    this.#off = true;
  }
}
