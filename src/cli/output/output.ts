import { stripVTControlCharacters, styleText } from "node:util";
import type { Globals } from "../input/options.ts";

export type Style = Parameters<typeof styleText>[0];

export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly writableNeedDrain?: boolean;
  once?(event: "drain", listener: () => void): unknown;
}

/** Width of a terminal in columns, 80 if it reports 0; null: the stream is not a terminal. */
function columnsOf({ isTTY, columns }: Stream): number | null {
  return isTTY ? columns || 80 : null;
}

/** Width of prose where the stream is not a terminal: in a log, a mail or a pager. */
const PROSE_WIDTH = 80;

/** Writes data to standard output, and notes and errors to standard error. */
export class Output {
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly #globals: Globals;
  readonly #reword: (text: string) => string;

  /** `reword` changes every line for people; JSON documents stay unchanged. */
  constructor(
    stdout: Stream,
    stderr: Stream,
    globals: Globals,
    reword: (text: string) => string = (text) => text,
  ) {
    this.stdout = stdout;
    this.stderr = stderr;
    this.#globals = globals;
    this.#reword = reword;
  }

  get isQuiet(): boolean {
    return this.#globals.quiet === true;
  }

  get isJson(): boolean {
    return this.#globals.json === true;
  }

  /** Width of the terminal in columns; null: not a terminal, nothing is cut. */
  get width(): number | null {
    return columnsOf(this.stdout);
  }

  /** The same for standard error. */
  get errorWidth(): number | null {
    return columnsOf(this.stderr);
  }

  /** Width at which sentences wrap: the terminal's, 80 if it is not a terminal. */
  get proseWidth(): number {
    return this.width ?? PROSE_WIDTH;
  }

  /** The same for standard error. */
  get errorProseWidth(): number {
    return this.errorWidth ?? PROSE_WIDTH;
  }

  /** Prints a line of data. */
  print(line = ""): void {
    this.stdout.write(`${this.isJson ? line : this.#reword(line)}\n`);
  }

  /** Waits until standard output takes more: a pipe may be slower than the command. */
  drained(): Promise<void> {
    const { stdout } = this;
    if (!stdout.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => stdout.once?.("drain", resolve));
  }

  /** Prints the one JSON document of a command, with the version of its documented form. */
  json(document: object): void {
    this.print(exactJson({ v: 1, ...document }));
  }

  /** Prints one of several JSON documents, on one line. */
  jsonLine(document: unknown): void {
    this.print(exactJson(document, 0));
  }

  /** Prints a note for people; `--quiet` hides it. */
  note(line: string): void {
    if (!this.isQuiet) this.complain(line);
  }

  /** Prints a message that `--quiet` does not hide. */
  complain(line: string): void {
    this.stderr.write(`${this.#reword(line)}\n`);
  }

  paint(style: Style, text: string, stream: Stream = this.stdout): string {
    return this.#colors(stream) ? styleText(style, text, { validateStream: false }) : text;
  }

  #colors(stream: Stream): boolean {
    const { color } = this.#globals;
    if (color === "always") return true;
    if (color === false || color === "never") return false;
    const { NO_COLOR, NODE_DISABLE_COLORS, FORCE_COLOR, TERM } = process.env;
    if (FORCE_COLOR !== undefined && FORCE_COLOR !== "") return FORCE_COLOR !== "0";
    if (NO_COLOR || NODE_DISABLE_COLORS || TERM === "dumb") return false;
    return stream.isTTY === true;
  }
}

/** Characters that control a terminal, break a line or change the direction of text. */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu;

/** Returns JSON in which characters that control a terminal or the direction of text are escaped. */
export function exactJson(value: unknown, indent = 2): string {
  const escaped = (text: string) =>
    text.replace(/./gsu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return JSON.stringify(value, null, indent)
    .split("\n")
    .map((line) => line.replace(STEERING, escaped))
    .join("\n");
}

/** Returns foreign text, such as names and errors, on one line and without control characters. */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replace(STEERING, " ");
}
