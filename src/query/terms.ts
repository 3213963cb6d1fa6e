import { PunctualError } from "../errors.ts";
import { closeNames } from "../validate/names.ts";

/** A quoted or unquoted piece of a value. In a quoted piece every character stands for itself. */
export interface ValuePiece {
  text: string;
  quoted: boolean;
}

/** One value: quoted and unquoted pieces without a space between them. */
export type Value = ValuePiece[];

/** A term of a query: `field:value,value`, or a value alone. */
export interface Term {
  not: boolean;
  /** Null: free text. */
  field: string | null;
  /** Steps behind `payload.`. */
  path: string[];
  values: Value[];
  /** The term as written, for messages. */
  source: string;
}

/** Bounds of a query, of the values of a term, and of the steps of a path. */
const MOST_CHARACTERS = 2000;
const MOST_TERMS = 30;
const MOST_VALUES = 100;
const MOST_STEPS = 10;

const SPACE = /\s/;
/** A field, the steps of a path, and a colon. A step may be in quotes. */
const FIELD = /([A-Za-z]+)((?:\.(?:"(?:[^"\\]|\\.)*"|[^\s":.,]+))*):/y;
const STEP = /\.(?:("(?:[^"\\]|\\.)*")|([^\s":.,]+))/g;

/** Splits a query into terms, without checking fields and values. */
export function toTerms(text: string): Term[] {
  if (text.length > MOST_CHARACTERS) {
    throw invalidQuery(`A query has at most ${MOST_CHARACTERS} characters, this one has ${text.length}.`);
  }
  if (/\0/.test(text) || !text.isWellFormed()) {
    throw invalidQuery("A query cannot contain NUL or a lone surrogate: no database stores them.");
  }
  const terms: Term[] = [];
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const term = readTerm(text, at);
    terms.push(term);
    at += term.source.length;
    if (terms.length > MOST_TERMS) throw invalidQuery(`A query has at most ${MOST_TERMS} terms.`);
  }
  return terms;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && SPACE.test(text[at]!)) at++;
  return at;
}

function readTerm(text: string, from: number): Term {
  let at = from;
  const not = text[at] === "-" && at + 1 < text.length && !SPACE.test(text[at + 1]!);
  if (not) at++;
  FIELD.lastIndex = at;
  const found = FIELD.exec(text);
  if (found) at = FIELD.lastIndex;
  const field = found ? found[1]!.toLowerCase() : null;
  const path = found ? readSteps(found[2]!) : [];
  const values: Value[] = [];
  for (;;) {
    const { value, end } = readValue(text, at, field !== null);
    values.push(value);
    at = end;
    // Behind a field a comma begins the next value; in free text it is an ordinary character.
    if (field === null || text[at] !== ",") break;
    at++;
    if (values.length >= MOST_VALUES) throw invalidQuery(`"${field}:" takes at most ${MOST_VALUES} values.`);
  }
  const source = text.slice(from, at);
  if (values.some((value) => value.length === 0)) {
    throw invalidQuery(
      `Expected a value in "${source}", got none. Write "${field}:value", or "${field}:\\"\\"" for the empty text.`,
    );
  }
  return { not, field, path, values, source };
}

function readSteps(text: string): string[] {
  const found = [...text.matchAll(STEP)].map(([, quoted, bare]) =>
    quoted === undefined ? bare! : unquote(quoted),
  );
  if (found.length > MOST_STEPS)
    throw invalidQuery(`A path has at most ${MOST_STEPS} steps, "${text.slice(1)}" has ${found.length}.`);
  return found;
}

/** Reads a value up to a space. `inList`: a comma ends it as well. */
function readValue(text: string, from: number, inList: boolean): { value: Value; end: number } {
  const value: Value = [];
  let at = from;
  while (at < text.length && !SPACE.test(text[at]!) && !(inList && text[at] === ",")) {
    if (text[at] === '"') {
      const end = findQuoteEnd(text, at);
      value.push({ text: unquote(text.slice(at, end)), quoted: true });
      at = end;
      continue;
    }
    const start = at;
    while (at < text.length && !SPACE.test(text[at]!) && text[at] !== '"' && !(inList && text[at] === ","))
      at++;
    value.push({ text: text.slice(start, at), quoted: false });
  }
  return { value, end: at };
}

/** Returns the position after the quote that closes the quote at `from`. */
function findQuoteEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  throw invalidQuery(
    `The quote in ${JSON.stringify(text.slice(from))} is not closed. End it with ", and write \\" for a quote inside it.`,
  );
}

function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gs, "$1");
}

export function invalidQuery(message: string): PunctualError {
  return new PunctualError("INVALID_QUERY", message);
}

/**
 * Returns the error for an unknown word. It suggests `meant`, else the closest known word, and lists all known words.
 */
export function unknownWord(
  what: string,
  word: string,
  known: readonly string[],
  meant?: string,
): PunctualError {
  const close = meant ?? closeNames(word, known)[0];
  const hint = close ? ` Did you mean "${close}"?` : "";
  return invalidQuery(`A query has no ${what} "${word}".${hint} Known: ${known.join(", ")}.`);
}
