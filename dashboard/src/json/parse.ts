/**
 * A JSON value that keeps what `JSON.parse` loses: the text of numbers, the order of keys, and keys that occur twice.
 */
export type JsonNode =
  | { kind: "object"; keys: string[]; values: JsonNode[] }
  | { kind: "array"; values: JsonNode[] }
  | { kind: "string"; value: string }
  | { kind: "number"; text: string }
  | { kind: "true" | "false" | "null" };

export type JsonContainer = Extract<JsonNode, { values: JsonNode[] }>;

export interface JsonFault {
  message: string;
  /** Position in the text, and the same as a line and a column that begin at 1. */
  offset: number;
  line: number;
  column: number;
}

export interface ParsedJson {
  /** The value, or as much of it as precedes the fault; null if there is nothing. */
  node: JsonNode | null;
  fault: JsonFault | null;
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

const TRUE: JsonNode = { kind: "true" };
const FALSE: JsonNode = { kind: "false" };
const NULL: JsonNode = { kind: "null" };

class Fault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** Parses JSON text without recursion: nesting depth is limited by memory only. */
class Parser {
  readonly #text: string;
  #at = 0;
  /** Containers that are not closed yet, the outermost first. */
  readonly #open: JsonContainer[] = [];
  root: JsonNode | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): void {
    this.#skipSpace();
    this.#value();
    while (this.#open.length > 0) this.#next();
    if (this.#at < this.#text.length) throw this.#fault("The value ends before this character");
  }

  /** Reads the next member of the innermost container, or its end. */
  #next(): void {
    const container = this.#open.at(-1)!;
    const close = container.kind === "object" ? "}" : "]";
    if (this.#take(close)) {
      this.#open.pop();
      return;
    }
    if (container.values.length > 0) {
      if (!this.#take(",")) throw this.#fault(`Expected , or ${close}`);
    }
    if (container.kind === "object") {
      const key = this.#string("Expected a key in double quotes");
      if (!this.#take(":")) throw this.#fault("Expected : after the key");
      container.keys.push(key);
      // A key whose value was cut must not be left without one.
      try {
        this.#value();
      } catch (error) {
        if (container.keys.length > container.values.length) container.keys.pop();
        throw error;
      }
    } else this.#value();
  }

  #value(): void {
    const node = this.#read();
    const parent = this.#open.at(-1);
    if (parent === undefined) this.root = node;
    else parent.values.push(node);
    if ("values" in node) this.#open.push(node);
    this.#skipSpace();
  }

  #read(): JsonNode {
    const first = this.#text[this.#at];
    if (first === "{") {
      this.#at++;
      return { kind: "object", keys: [], values: [] };
    }
    if (first === "[") {
      this.#at++;
      return { kind: "array", values: [] };
    }
    if (first === '"') return { kind: "string", value: this.#string("Expected a string") };
    const word = this.#match(WORD);
    if (word !== null) return word === "true" ? TRUE : word === "false" ? FALSE : NULL;
    const number = this.#match(NUMBER);
    if (number !== null) return { kind: "number", text: number };
    throw this.#fault("Expected a value");
  }

  #string(expectation: string): string {
    if (this.#text[this.#at] !== '"') throw this.#fault(expectation);
    const start = this.#at;
    const end = this.#endOfString(start);
    if (end === -1) throw new Fault("The string has no end", start);
    this.#at = end + 1;
    try {
      // `JSON.parse` knows every escape.
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#skipSpace();
      return value;
    } catch {
      throw new Fault("The string contains an invalid escape or a line break", start);
    }
  }

  /** Returns the position of the closing quote. A regular expression would exhaust its stack on megabytes of text. */
  #endOfString(start: number): number {
    let end = start;
    for (;;) {
      end = this.#text.indexOf('"', end + 1);
      if (end === -1) return -1;
      let backslashes = 0;
      while (this.#text[end - 1 - backslashes] === "\\") backslashes++;
      if (backslashes % 2 === 0) return end;
    }
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    this.#skipSpace();
    return true;
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return null;
    this.#at = pattern.lastIndex;
    return found[0];
  }

  #fault(message: string): Fault {
    const found = this.#text[this.#at];
    return new Fault(
      found === undefined ? "The text ends too early" : `${message}, found ${found}`,
      this.#at,
    );
  }
}

/** Parses JSON text. Text that was cut gives the part of the value that it still contains, and a fault. */
export function parseJson(text: string): ParsedJson {
  const parser = new Parser(text);
  try {
    parser.parse();
    return { node: parser.root, fault: null };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.offset).split("\n");
    const fault = {
      message: error.message,
      offset: error.offset,
      line: before.length,
      column: before.at(-1)!.length + 1,
    };
    return { node: parser.root, fault };
  }
}
