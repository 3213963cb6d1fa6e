import { PunctualError } from "../errors.ts";
import { closeNames } from "../validate/names.ts";

/** A stretch of a value; what was in quotes means what it says. */
export interface Part {
  text: string;
  quoted: boolean;
}

/** One value: stretches in and out of quotes, written without a space between them. */
export type Value = Part[];

/** `field:value,value`, or a value alone. */
export interface Term {
  not: boolean;
  /** Null: free text. */
  field: string | null;
  /** Behind `payload.`. */
  path: string[];
  values: Value[];
  /** As it was written, for messages. */
  source: string;
}

const LONGEST = 2000;
const MOST_TERMS = 30;
const MOST_VALUES = 100;
const DEEPEST = 10;

const SPACE = /\s/;
/** A field, or the steps of a path, some of which may be in quotes. */
const FIELD = /([A-Za-z]+)((?:\.(?:"(?:[^"\\]|\\.)*"|[^\s":.,]+))*):/y;
const STEP = /\.(?:("(?:[^"\\]|\\.)*")|([^\s":.,]+))/g;

/** Takes a query apart; what its words mean is not known here. */
export function toTerms(text: string): Term[] {
  if (text.length > LONGEST) {
    throw invalid(`A query has at most ${LONGEST} characters, this one has ${text.length}.`);
  }
  if (/\0/.test(text) || !text.isWellFormed()) {
    throw invalid("A query cannot hold NUL or half a surrogate pair: no database stores them.");
  }
  const terms: Term[] = [];
  for (let at = skip(text, 0); at < text.length; at = skip(text, at)) {
    const term = readTerm(text, at);
    terms.push(term);
    at += term.source.length;
    if (terms.length > MOST_TERMS) throw invalid(`A query has at most ${MOST_TERMS} parts.`);
  }
  return terms;
}

function skip(text: string, from: number): number {
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
  const path = found ? steps(found[2]!) : [];
  const values: Value[] = [];
  for (;;) {
    const { value, end } = readValue(text, at, field !== null);
    values.push(value);
    at = end;
    // A comma belongs to free text; behind a field it begins the next value.
    if (field === null || text[at] !== ",") break;
    at++;
    if (values.length >= MOST_VALUES) throw invalid(`"${field}:" takes at most ${MOST_VALUES} values.`);
  }
  const source = text.slice(from, at);
  if (values.some((value) => value.length === 0)) {
    throw invalid(`Expected a value in "${source}", got none. Write "${field}:value", an empty text as "".`);
  }
  return { not, field, path, values, source };
}

function steps(text: string): string[] {
  const found = [...text.matchAll(STEP)].map(([, quoted, bare]) =>
    quoted === undefined ? bare! : unquoted(quoted),
  );
  if (found.length > DEEPEST)
    throw invalid(`A path has at most ${DEEPEST} steps, "${text.slice(1)}" has ${found.length}.`);
  return found;
}

function readValue(text: string, from: number, listed: boolean): { value: Value; end: number } {
  const value: Value = [];
  let at = from;
  while (at < text.length && !SPACE.test(text[at]!) && !(listed && text[at] === ",")) {
    if (text[at] === '"') {
      const end = closing(text, at);
      value.push({ text: unquoted(text.slice(at, end)), quoted: true });
      at = end;
      continue;
    }
    const start = at;
    while (at < text.length && !SPACE.test(text[at]!) && text[at] !== '"' && !(listed && text[at] === ","))
      at++;
    value.push({ text: text.slice(start, at), quoted: false });
  }
  return { value, end: at };
}

/** Behind the quote that ends what the one here begins. */
function closing(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  throw invalid(
    `The quote in ${JSON.stringify(text.slice(from))} is not closed. Write " at its end, and \\" for one within.`,
  );
}

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gs, "$1");
}

export function invalid(message: string): PunctualError {
  return new PunctualError("INVALID_QUERY", message);
}

/** What is not known, what it may have been meant for, and what is known. */
export function unknown(what: string, word: string, known: readonly string[], meant?: string): PunctualError {
  const close = meant ?? closeNames(word, known)[0];
  const hint = close ? ` Did you mean "${close}"?` : "";
  return invalid(`A query knows no ${what} "${word}".${hint} Known: ${known.join(", ")}.`);
}
