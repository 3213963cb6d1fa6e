/** Bound of a cache: the number of different texts has no limit where lists of parameters differ in length. */
const MOST_TEXTS = 1000;

/**
 * Texts of statements that are sent often, each built once. A text that is built again is a new string, which every map
 * that it is looked up in has to hash and compare (note 51).
 */
export class TextCache {
  readonly #texts = new Map<string, string>();

  /** Returns the text of `key`, which decides it; `build` makes it on first use. */
  get(key: string, build: () => string): string {
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const text = build();
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear();
    this.#texts.set(key, text);
    return text;
  }
}
