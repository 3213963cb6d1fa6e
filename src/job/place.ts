import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

/** `at name (url:line:column)`, or without a name. */
const FRAME = /((?:[a-z][a-z+.-]+:\/\/|[A-Z]:[\\/]|\/).*):(\d+):(\d+)\)?$/i;

interface Where {
  file: string;
  line: number;
}

/**
 * The code that called a function of ours: its source file, also where a bundler's source maps have to tell it. The stack
 * is read only when somebody asks: a program may define thousands of jobs.
 */
export class Place {
  declare readonly stack?: string;
  #where: Where | null | undefined;

  /** `called`: the function whose caller is meant. */
  constructor(called: (...args: never[]) => unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(this, called);
    Error.stackTraceLimit = stackTraceLimit;
    // A dev server unloads the chunk when it is rebuilt, and its source map goes with it.
    if (process.sourceMapsEnabled) this.#find();
  }

  /** Null: the stack does not name one. */
  get file(): string | null {
    return this.#find()?.file ?? null;
  }

  /** The file and the line, for messages. */
  toString(): string {
    const where = this.#find();
    return where ? `${where.file}:${where.line}` : "an unknown place";
  }

  #find(): Where | null {
    if (this.#where === undefined) this.#where = whereIs(this.stack?.trimEnd().split("\n").at(-1) ?? "");
    return this.#where;
  }
}

function whereIs(frame: string): Where | null {
  const [, url, line, column] = FRAME.exec(frame) ?? [];
  if (url === undefined) return null;
  // Absent from Bun, whose stacks are in the terms of the sources anyway.
  const entry = nodeModule.findSourceMap?.(url)?.findEntry(Number(line) - 1, Number(column) - 1);
  const source = entry && "originalSource" in entry ? entry : null;
  return source
    ? { file: pathOf(source.originalSource), line: source.originalLine + 1 }
    : { file: pathOf(url), line: Number(line) };
}

/** Without a query, which a loader adds to evaluate a file again. */
function pathOf(url: string): string {
  const [plain = url] = url.split("?");
  return plain.startsWith("file:") ? fileURLToPath(plain) : plain;
}
