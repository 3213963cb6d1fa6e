import { quoteValue, readTerms } from "./terms.ts";

/** A field of the query language, for the list below the bar. */
export interface FieldHelp {
  name: string;
  text: string;
  /** Values that never change; `look`: values come from the server. */
  values?: readonly string[];
  look?: boolean;
}

export const FIELDS: readonly FieldHelp[] = [
  {
    name: "state",
    text: "state of the run",
    values: ["scheduled", "ready", "running", "completed", "failed", "cancelled", "skipped"],
  },
  {
    name: "is",
    text: "late, retrying, waiting, finished …",
    values: ["due", "late", "retrying", "cancelling", "waiting", "running", "finished"],
  },
  { name: "job", text: "name of the job; a star stands for any text", look: true },
  { name: "queue", text: "name of the queue", look: true },
  { name: "payload.", text: "a value of the arguments: payload.customerId:4711" },
  { name: "error", text: "part of the error's message" },
  { name: "errortype", text: "class of the error", look: true },
  { name: "tag", text: "a whole tag", look: true },
  { name: "after", text: "finished or dispatched after", values: ["1h", "24h", "7d", "30d"] },
  { name: "before", text: "finished or dispatched before", values: ["1h", "24h", "7d"] },
  { name: "took", text: "duration of the last attempt", values: [">1s", ">10s", ">1m", ">10m"] },
  { name: "waited", text: "time until it started", values: [">1s", ">10s", ">1m", ">10m"] },
  { name: "attempt", text: "number of the last attempt", values: [">1", ">=3", ">=5"] },
  { name: "worker", text: "worker that has or had it", look: true },
  { name: "schedule", text: "job or id of the schedule that created it", look: true },
  { name: "key", text: "key of the run", look: true },
  { name: "id", text: "number of the run" },
  { name: "batch", text: "batch of the run" },
  { name: "parent", text: "run that dispatched it" },
];

/** The part of the query that the user is writing at the caret. */
export interface CompletionPlace {
  /** Null: a field, or free text. */
  field: string | null;
  prefix: string;
  /** Part of the query that a suggestion replaces. */
  from: number;
  to: number;
}

export interface Suggestion {
  /** The text to insert; a field ends with its colon. */
  insert: string;
  label: string;
  detail: string;
}

/** Returns what is being written at the caret: a field, or one value of a list behind a field. */
export function placeAt(query: string, caret: number): CompletionPlace {
  const term = readTerms(query).find(({ start, end }) => start < caret && caret <= end);
  if (!term) return { field: null, prefix: "", from: caret, to: caret };
  if (term.field === null || caret < term.valueStart) {
    const from = term.start + (term.not ? 1 : 0);
    return { field: null, prefix: query.slice(from, caret), from, to: term.end };
  }
  const from = term.valueStart + lastComma(query.slice(term.valueStart, caret)) + 1;
  const rest = query.slice(caret, term.end).search(/,/);
  const to = rest < 0 ? term.end : caret + rest;
  return { field: term.field, prefix: query.slice(from, caret).replace(/^"/, ""), from, to };
}

/** Returns the place of the last comma that stands outside of quotes; -1 if there is none. */
function lastComma(text: string): number {
  let quoted = false;
  let last = -1;
  for (const [index, character] of [...text].entries()) {
    if (character === '"') quoted = !quoted;
    else if (character === "," && !quoted) last = index;
  }
  return last;
}

/** Returns the suggestions for a place. `looked` are values that the server knows for the field. */
export function suggest(place: CompletionPlace, looked: readonly string[]): Suggestion[] {
  const wanted = place.prefix.toLowerCase();
  if (place.field === null) {
    return FIELDS.filter(({ name }) => name.startsWith(wanted)).map(({ name, text }) => ({
      insert: name.endsWith(".") ? name : `${name}:`,
      label: name.endsWith(".") ? `${name}…` : `${name}:`,
      detail: text,
    }));
  }
  const field = FIELDS.find(({ name }) => name === place.field);
  const values = field?.values ?? looked;
  return values
    .filter((value) => value.toLowerCase().includes(wanted) && value !== place.prefix)
    .map((value) => ({ insert: field?.values ? value : quoteValue(value), label: value, detail: "" }));
}

/** Returns the query with a suggestion in its place, and where the caret stands then. */
export function accept(
  query: string,
  { from, to }: CompletionPlace,
  insert: string,
): { query: string; caret: number } {
  const closed = /[:.]$/.test(insert) || query[to] === "," ? insert : `${insert} `;
  const rest = query.slice(to);
  return {
    query: query.slice(0, from) + closed + (closed.endsWith(" ") ? rest.trimStart() : rest),
    caret: from + closed.length,
  };
}
