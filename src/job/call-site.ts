import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

/** A line of a stack: `at name (url:line:column)` or `at url:line:column`. */
const FRAME = /((?:[a-z][a-z+.-]+:\/\/|[A-Z]:[\\/]|\/).*):(\d+):(\d+)\)?$/i;

interface SourceLine {
  file: string;
  line: number;
}

/**
 * The file and line that called a function of ours, such as `define()`; source maps are applied. The stack is parsed on
 * first use only: a program may define thousands of jobs.
 */
export class CallSite {
  declare readonly stack?: string;
  /** Undefined: not parsed yet. */
  #line: SourceLine | null | undefined;

  /** `called`: the function whose caller is recorded. */
  constructor(called: (...args: never[]) => unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(this, called);
    Error.stackTraceLimit = stackTraceLimit;
    // Parsed now: when a dev server rebuilds a chunk, it unloads the old chunk and its source map.
    if (process.sourceMapsEnabled) this.#find();
  }

  /** Null: the stack names no file. */
  get file(): string | null {
    return this.#find()?.file ?? null;
  }

  /** Returns `file:line`, for messages. */
  toString(): string {
    const found = this.#find();
    return found ? `${found.file}:${found.line}` : "an unknown file";
  }

  #find(): SourceLine | null {
    if (this.#line === undefined) this.#line = parseFrame(this.stack?.trimEnd().split("\n").at(-1) ?? "");
    return this.#line;
  }
}

function parseFrame(frame: string): SourceLine | null {
  const [, url, line, column] = FRAME.exec(frame) ?? [];
  if (url === undefined) return null;
  // Bun has no findSourceMap(); its stacks name the source files already.
  const entry = nodeModule.findSourceMap?.(url)?.findEntry(Number(line) - 1, Number(column) - 1);
  const source = entry && "originalSource" in entry ? entry : null;
  return source
    ? { file: pathOf(source.originalSource), line: source.originalLine + 1 }
    : { file: pathOf(url), line: Number(line) };
}

/** Drops the query of the URL: a loader adds one to evaluate a file again. */
function pathOf(url: string): string {
  const [plain = url] = url.split("?");
  return plain.startsWith("file:") ? fileURLToPath(plain) : plain;
}
