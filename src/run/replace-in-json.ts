import { HIDDEN } from "./redact.ts";

/** Thrown for text that is not JSON. */
export class MalformedJson extends Error {}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const HIDDEN_JSON = JSON.stringify(HIDDEN);

/** An object or array that has not ended. */
interface Container {
  isArray: boolean;
  /** Index of the next element. */
  index: number;
}

/** How to copy JSON text. */
export interface Replacement {
  /** Whether the value at a path becomes `"[hidden]"`; null stays null. */
  hides(path: readonly string[]): boolean;
  /** Gets every other string and every key, in quotes; returns another JSON string, or null if it stays. */
  replace(raw: string): string | null;
  /** The copy stops after this many characters. */
  limit: number;
  /** The text is the beginning of a longer one: the copy stops before a string or a hidden value without its end. */
  isPartial?: boolean;
}

/**
 * Copies JSON text and replaces values on the way, without parsing it: numbers of any size and the order of keys stay
 * as they are written. Throws MalformedJson.
 */
export function replaceInJson(text: string, replacement: Replacement): { json: string; isCut: boolean } {
  return new JsonCopier(text, replacement).copy();
}

/** Thrown to end the copy of a partial text. */
class EndOfPart extends Error {}

class JsonCopier {
  readonly #text: string;
  readonly #how: Replacement;
  #at = 0;
  /** The text before this position has been copied. */
  #copied = 0;
  #out = "";
  readonly #path: string[] = [];
  readonly #open: Container[] = [];

  constructor(text: string, how: Replacement) {
    this.#text = text;
    this.#how = how;
  }

  copy(): { json: string; isCut: boolean } {
    try {
      this.#skipSpace();
      this.#value();
      while (this.#open.length > 0 && this.#length < this.#how.limit) this.#next();
      if (this.#open.length === 0) this.#end();
    } catch (error) {
      if (!(error instanceof EndOfPart)) throw error;
    }
    const json = this.#out + this.#text.slice(this.#copied, this.#at);
    return json.length <= this.#how.limit && this.#open.length === 0
      ? { json, isCut: false }
      : { json: cutAt(json, this.#how.limit), isCut: true };
  }

  get #length(): number {
    return this.#out.length + this.#at - this.#copied;
  }

  #end(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) throw new MalformedJson();
  }

  /** Copies the next element or the end of the innermost container. */
  #next(): void {
    const container = this.#open.at(-1)!;
    const isFirst = container.index === 0;
    this.#skipSpace();
    if (this.#peek() === (container.isArray ? "]" : "}")) {
      this.#at++;
      this.#open.pop();
      this.#path.pop();
      return;
    }
    if (!isFirst) {
      this.#expect(",");
      this.#skipSpace();
    }
    if (container.isArray) this.#path[this.#path.length - 1] = String(container.index);
    else this.#key();
    container.index++;
    this.#skipSpace();
    this.#value();
  }

  #key(): void {
    const start = this.#at;
    const raw = this.#string();
    this.#path[this.#path.length - 1] = raw.includes("\\") ? decode(raw) : raw.slice(1, -1);
    this.#substitute(start, this.#how.replace(raw));
    this.#skipSpace();
    this.#expect(":");
  }

  #value(): void {
    const start = this.#at;
    if (this.#open.length > 0 && this.#peek() !== "n" && this.#how.hides(this.#path)) {
      this.#skipHidden();
      this.#substitute(start, HIDDEN_JSON);
      return;
    }
    const first = this.#peek();
    if (first === "{" || first === "[") {
      this.#at++;
      this.#open.push({ isArray: first === "[", index: 0 });
      this.#path.push("");
    } else if (first === '"') this.#substitute(start, this.#how.replace(this.#string()));
    else this.#scalar();
  }

  #skipHidden(): void {
    const start = this.#at;
    try {
      this.#skipValue();
    } catch (error) {
      // Otherwise the part of the value that was skipped would be copied.
      this.#at = start;
      throw error;
    }
  }

  /** Skips a value, with everything in it. */
  #skipValue(): void {
    let depth = 0;
    do {
      const first = this.#peek();
      if (first === '"') this.#string();
      else if (first === "{" || first === "[") {
        depth++;
        this.#at++;
      } else if (first === "}" || first === "]") {
        depth--;
        this.#at++;
      } else if (depth > 0 && (first === "," || first === ":")) this.#at++;
      else this.#scalar();
      if (depth > 0) this.#skipSpace();
    } while (depth > 0);
  }

  #substitute(start: number, by: string | null): void {
    if (by === null) return;
    this.#out += this.#text.slice(this.#copied, start) + by;
    this.#copied = this.#at;
  }

  /** Returns the string at the current position, with its quotes. */
  #string(): string {
    const start = this.#at;
    this.#expect('"');
    for (let at = start + 1; ; at++) {
      at = this.#text.indexOf('"', at);
      if (at < 0) {
        this.#at = start;
        throw this.#ended();
      }
      let escapes = 0;
      while (this.#text[at - 1 - escapes] === "\\") escapes++;
      if (escapes % 2 === 1) continue;
      this.#at = at + 1;
      return this.#text.slice(start, this.#at);
    }
  }

  #scalar(): void {
    SCALAR.lastIndex = this.#at;
    if (!SCALAR.test(this.#text)) throw this.#how.isPartial ? this.#ended() : new MalformedJson();
    this.#at = SCALAR.lastIndex;
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #peek(): string {
    const next = this.#text[this.#at];
    if (next === undefined) throw this.#ended();
    return next;
  }

  #expect(what: string): void {
    if (this.#peek() !== what) throw new MalformedJson();
    this.#at++;
  }

  #ended(): Error {
    return this.#how.isPartial ? new EndOfPart() : new MalformedJson();
  }
}

function decode(raw: string): string {
  try {
    return JSON.parse(raw) as string;
  } catch {
    throw new MalformedJson();
  }
}

/** Cuts a text, but no character in half. */
function cutAt(text: string, length: number): string {
  const end = length < text.length && /[\uD800-\uDBFF]/.test(text[length - 1] ?? "") ? length - 1 : length;
  return text.slice(0, end);
}
