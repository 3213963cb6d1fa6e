import { PunctualError } from "../errors.ts";
import { closeNames } from "../validate/names.ts";

export function invalid(message: string): PunctualError {
  return new PunctualError("INVALID_QUERY", message);
}

/** What is not known, what it may have been meant for, and what is known. */
export function unknown(what: string, word: string, known: readonly string[], meant?: string): PunctualError {
  const close = meant ?? closeNames(word, known)[0];
  const hint = close ? ` Did you mean "${close}"?` : "";
  return invalid(`A query knows no ${what} "${word}".${hint} Known: ${known.join(", ")}.`);
}
