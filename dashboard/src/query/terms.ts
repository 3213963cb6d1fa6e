import { term } from "../text/query.ts";

/** A term of a query as the user writes it, perhaps unfinished: `state:failed`, `-queue:bulk`, `"timed out`. */
export interface QueryTerm {
  /** The field without minus and colon, in lower case; null: free text. */
  field: string | null;
  not: boolean;
  /** The text behind the colon, or the whole free text. */
  value: string;
  /** Place in the query: from `start` up to `end`; `valueStart` is where the value begins. */
  start: number;
  valueStart: number;
  end: number;
}

const TERM =
  /(-?)((?:[A-Za-z]+(?:\.(?:"(?:[^"\\]|\\.)*"|[^\s":.,]+))*:)?)((?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s"])*)/g;

/** Splits a query into terms. Every text is allowed: the server judges it. */
export function readTerms(query: string): QueryTerm[] {
  const terms: QueryTerm[] = [];
  for (const found of query.matchAll(TERM)) {
    const [source, minus, name, value] = found as unknown as [string, string, string, string];
    if (source === "") continue;
    const start = found.index;
    terms.push({
      field: name ? name.slice(0, -1).toLowerCase() : null,
      not: minus === "-",
      value,
      start,
      valueStart: start + minus.length + name.length,
      end: start + source.length,
    });
  }
  return terms;
}

function join(query: string, terms: readonly QueryTerm[]): string {
  return terms.map(({ start, end }) => query.slice(start, end)).join(" ");
}

/** Whether a term chooses states, as the tabs above the list do. */
function isState({ field, not }: QueryTerm): boolean {
  return !not && (field === "state" || field === "is");
}

/** Returns the query without the terms that choose states. */
export function withoutState(query: string): string {
  return join(
    query,
    readTerms(query).filter((term) => !isState(term)),
  );
}

/** Returns the query with this term for the state in place of others: `withState(q, "state:failed")`. */
export function withState(query: string, term: string): string {
  return `${term} ${withoutState(query)}`.trim();
}

/** Returns the term that chooses states; null if there is none, or more than one. */
export function stateTerm(query: string): string | null {
  const found = readTerms(query).filter(isState);
  return found.length === 1 ? join(query, found) : null;
}

/** Whether the query names states. */
export function namesState(query: string): boolean {
  return readTerms(query).some(isState);
}

/** Returns the query with this value for a field, in place of the terms it has for the field. */
export function withField(query: string, field: string, value: string): string {
  const others = readTerms(query).filter((term) => term.field !== field);
  return `${join(query, others)} ${field}:${value}`.trim();
}

/** Returns the query without each of its terms in turn. */
export function withEachLeftOut(query: string): { without: string; rest: string }[] {
  const terms = readTerms(query);
  return terms.map((left) => ({
    without: join(query, [left]),
    rest: join(
      query,
      terms.filter((term) => term !== left),
    ),
  }));
}

/** Returns a name as a value of a query: in quotes if it has characters with a meaning. */
export function quoteValue(name: string): string {
  return term("", name).slice(1);
}
