import { formatValue, PunctualError } from "../errors.ts";
import { isSecretName, withoutPasswords } from "./redact.ts";
import { MalformedJson, replaceInJson } from "./replace-in-json.ts";

/** A pattern of the option `redact`, compiled. */
interface Pattern {
  /** Whether the first step must be at the root. */
  anchored: boolean;
  /** One for each step of the path, the last step first. */
  steps: RegExp[];
}

/** Shown in place of a stored text that is not JSON: nothing in it can be told from a secret. */
const UNREADABLE = JSON.stringify("[not JSON: hidden]");

/** A string without these cannot contain a URL with a password or a parameter, unless escapes hide them. */
const MAY_HAVE_URL = /[\\?&;]|:\/\//;

/** Part of a text that a preview reads at most, as a multiple of its length: hidden values shorten the text. */
const READ_FOR_PREVIEW = 8;

/**
 * Hides secrets before they leave the process: values by name, values by path, and passwords in URLs inside texts.
 *
 * A pattern is a path of steps with dots between them. `email`, `*.email` and `user.email` match at any depth,
 * `$.user.email` from the root. A step is a key or the index of an array; in it a star matches any text, and a step in
 * quotes may contain dots. Upper and lower case are the same.
 */
export class Redaction {
  /** Null: hides nothing. */
  readonly #patterns: Pattern[] | null;
  /** The patterns as they were given; null: hides nothing. */
  readonly patterns: readonly string[] | null;

  /** `patterns`: what to hide beside values with the name of a secret; false: hides nothing at all. */
  constructor(patterns: readonly string[] | false = []) {
    this.patterns = patterns === false ? null : patterns;
    this.#patterns = patterns === false ? null : patterns.map(toPattern);
  }

  /** Returns a text without the passwords and secret parameters of the URLs in it. */
  text(text: string): string {
    return this.#patterns === null ? text : withoutPasswords(text);
  }

  /**
   * Returns JSON text with secrets hidden; numbers stay as they are written. The text is cut after `limit` characters:
   * it is then no longer valid JSON.
   */
  json(text: string, limit: number = Number.POSITIVE_INFINITY): { json: string; truncated: boolean } {
    return this.#copy(text, limit, false);
  }

  /** Returns the beginning of JSON text in one line. Reads only the beginning of a long text. */
  preview(text: string, limit: number): string {
    const beginning = text.slice(0, limit * READ_FOR_PREVIEW);
    const isPartial = beginning.length < text.length;
    const { json, truncated } = this.#copy(beginning, limit, isPartial);
    const line = json.replace(/\s+/g, " ");
    return truncated || isPartial ? `${line}…` : line;
  }

  #copy(text: string, limit: number, isPartial: boolean): { json: string; truncated: boolean } {
    try {
      const { json, isCut } = replaceInJson(text, {
        hides: (path) => this.#hides(path),
        replace: this.#patterns === null ? () => null : hideInString,
        limit,
        isPartial,
      });
      return { json, truncated: isCut };
    } catch (error) {
      if (!(error instanceof MalformedJson || error instanceof SyntaxError)) throw error;
      return { json: UNREADABLE, truncated: false };
    }
  }

  /** Whether anything is hidden. */
  get isOn(): boolean {
    return this.#patterns !== null;
  }

  /** Whether the value at a path, as a query names it, is hidden or within a hidden value. */
  hidesBelow(path: readonly string[]): boolean {
    // Databases read the steps "00" and " 0" as the index 0.
    const normal = path.map((step) => (/^\s*\d+\s*$/.test(step) ? String(Number(step)) : step));
    return [path, normal].some((steps) => steps.some((_, index) => this.#hides(steps.slice(0, index + 1))));
  }

  /** Whether the value at a path is hidden. */
  #hides(path: readonly string[]): boolean {
    const last = path.at(-1);
    if (last === undefined || this.#patterns === null) return false;
    return isSecretName(last) || this.#patterns.some((pattern) => matches(pattern, path));
  }
}

function matches({ anchored, steps }: Pattern, path: readonly string[]): boolean {
  if (anchored ? path.length !== steps.length : path.length < steps.length) return false;
  return steps.every((step, index) => step.test(path[path.length - 1 - index]!));
}

const STEP = /\.?(?:"((?:[^"\\]|\\.)*)"|([^".]+))/y;

/** Throws INVALID_OPTION for a pattern without steps, or with an empty step. */
function toPattern(pattern: string): Pattern {
  const text = typeof pattern === "string" ? pattern : "";
  const anchored = text.startsWith("$.");
  const rest = anchored ? text.slice(2) : text.replace(/^\*\./, "");
  const steps: RegExp[] = [];
  STEP.lastIndex = 0;
  for (let end = 0; end < rest.length; end = STEP.lastIndex) {
    const found = rest[0] === "." ? null : STEP.exec(rest);
    if (!found) throw invalidPattern(pattern);
    const [, quoted, bare] = found;
    steps.unshift(quoted === undefined ? toStep(bare!) : new RegExp(`^${literal(unquote(quoted))}$`, "i"));
  }
  if (steps.length === 0 || rest.endsWith(".")) throw invalidPattern(pattern);
  return { anchored, steps };
}

function toStep(text: string): RegExp {
  return new RegExp(`^${text.split("*").map(literal).join(".*")}$`, "is");
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function unquote(text: string): string {
  return text.replace(/\\(.)/gs, "$1");
}

function invalidPattern(pattern: unknown): PunctualError {
  return new PunctualError(
    "INVALID_OPTION",
    `Expected a pattern of redact as a name or a path, such as "*.password" or "$.user.email", got ${formatValue(pattern)}.`,
  );
}

/** Returns the replacement of a JSON string, in quotes; null: it stays. */
function hideInString(raw: string): string | null {
  if (!MAY_HAVE_URL.test(raw)) return null;
  const text = JSON.parse(raw) as string;
  const hidden = withoutPasswords(text);
  return hidden === text ? null : JSON.stringify(hidden);
}
