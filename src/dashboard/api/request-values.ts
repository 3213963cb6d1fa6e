import { formatValue } from "../../errors.ts";
import { closeNames } from "../../validate/names.ts";
import { HttpProblem } from "../server/problem.ts";

/** Returns the value of a parameter or of a key of the body; throws an HttpProblem with what was expected. */
export type Reader<Value> = (given: unknown, name: string) => Value;

/** The values that readers return, by name. */
export type ReadValues<Readers> = {
  [Name in keyof Readers]: Readers[Name] extends Reader<infer V> ? V : never;
};

/** Reads the query of a URL: every parameter at most once, none that is unknown. */
export function readQuery<Readers extends object>(
  query: URLSearchParams,
  readers: Readers,
): ReadValues<Readers> {
  const names = [...query.keys()];
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalid(`the parameter ${formatValue(twice)} once, got it several times`);
  refuseUnknown(names, Object.keys(readers), "parameter");
  return readAll(readers, (name) => query.get(name) ?? undefined);
}

/** Reads a JSON body, which must be an object without unknown keys; a missing body is an empty object. */
export function readBody<Readers extends object>(body: unknown, readers: Readers): ReadValues<Readers> {
  const given = body === undefined ? {} : body;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw invalid(`the body to be a JSON object, got ${formatValue(given)}`);
  refuseUnknown(Object.keys(given), Object.keys(readers), "key");
  return readAll(readers, (name) => (given as Record<string, unknown>)[name]);
}

function readAll<Readers extends object>(
  readers: Readers,
  given: (name: string) => unknown,
): ReadValues<Readers> {
  const all = Object.entries(readers) as [string, Reader<unknown>][];
  const values = all.map(([name, read]) => [name, read(given(name), name)]);
  return Object.fromEntries(values) as ReadValues<Readers>;
}

function refuseUnknown(names: readonly string[], known: readonly string[], what: string): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const close = closeNames(unknown, known)[0];
  throw invalid(
    `${known.length === 0 ? `no ${what}` : `only ${known.join(", ")}`}, got the unknown ${what} ${formatValue(unknown)}`,
    close === undefined ? undefined : `Did you mean "${close}"?`,
  );
}

/** Returns the problem of a request whose values are wrong. */
export function invalid(expected: string, hint?: string): HttpProblem {
  return new HttpProblem({ code: "INVALID_REQUEST", detail: `Expected ${expected}.`, hint });
}

// -- readers of a query, whose values are texts ----------------------------------------------------------------------

export const text: Reader<string | undefined> = (given, name) => {
  if (given === undefined || typeof given === "string") return given;
  throw invalid(`${name} as text, got ${formatValue(given)}`);
};

export const requiredText: Reader<string> = (given, name) => {
  if (typeof given === "string" && given !== "") return given;
  throw invalid(`${name} as text of at least one character, got ${formatValue(given ?? "nothing")}`);
};

/** A whole number from `least` to `most`, written in digits. */
export function digits<Default>(least: number, most: number, otherwise: Default): Reader<number | Default> {
  return (given, name) => {
    if (given === undefined) return otherwise;
    const value = typeof given === "string" && /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw invalid(`${name} as a whole number from ${least} to ${most}, got ${formatValue(given)}`);
  };
}

/** The id of a run or of an entry: `next` of the page before. */
export const cursor: Reader<number | undefined> = digits(1, Number.MAX_SAFE_INTEGER, undefined);

/** One of some texts; undefined as `otherwise`: it must be given. */
export function oneOf<const Value extends string>(
  values: readonly Value[],
  otherwise?: NoInfer<Value>,
): Reader<Value> {
  return (given, name) => {
    if (given === undefined && otherwise !== undefined) return otherwise;
    if (values.includes(given as Value)) return given as Value;
    throw invalid(`${name} as one of ${values.join(", ")}, got ${formatValue(given ?? "nothing")}`);
  };
}

/** One of some texts, or nothing. */
export function oneOfOrNone<const Value extends string>(values: readonly Value[]): Reader<Value | undefined> {
  const read = oneOf(values);
  return (given, name) => (given === undefined ? undefined : read(given, name));
}

/** Ids with commas between them. */
export function idList(most: number): Reader<number[]> {
  return (given, name) => {
    if (given === undefined || given === "") return [];
    const parts = String(given).split(",");
    if (parts.length > most) throw invalid(`at most ${most} ids in ${name}, got ${parts.length}`);
    return parts.map((part) => toId(part, name));
  };
}

/** Returns the id in a path or a list. */
export function toId(given: string, name: string): number {
  if (/^[1-9]\d{0,15}$/.test(given) && Number.isSafeInteger(Number(given))) return Number(given);
  throw invalid(`${name} as a whole number, got ${formatValue(given)}`);
}

// -- readers of a body, whose values are JSON ------------------------------------------------------------------------

export const anything: Reader<unknown> = (given) => given;

export const flag: Reader<boolean> = (given, name) => {
  if (given === undefined || typeof given === "boolean") return given === true;
  throw invalid(`${name} as true or false, got ${formatValue(given)}`);
};

export const integer: Reader<number | undefined> = (given, name) => {
  if (given === undefined || Number.isSafeInteger(given)) return given as number | undefined;
  throw invalid(`${name} as a whole number, got ${formatValue(given)}`);
};

/** Seconds, or a text such as "5m", which the library checks. */
export const duration: Reader<number | string | undefined> = (given, name) => {
  if (given === undefined || typeof given === "number" || typeof given === "string") return given;
  throw invalid(`${name} as seconds or a text such as "5m", got ${formatValue(given)}`);
};

export const texts: Reader<string[] | undefined> = (given, name) => {
  if (given === undefined || (Array.isArray(given) && given.every((one) => typeof one === "string")))
    return given;
  throw invalid(`${name} as a list of texts, got ${formatValue(given)}`);
};

export function ids(most: number): Reader<number[] | undefined> {
  return (given, name) => {
    if (given === undefined) return undefined;
    if (!Array.isArray(given) || !given.every((id) => Number.isSafeInteger(id) && id > 0))
      throw invalid(`${name} as a list of ids of runs, got ${formatValue(given)}`);
    if (given.length === 0 || given.length > most)
      throw invalid(`from 1 to ${most} ids in ${name}, got ${given.length}`);
    return [...new Set(given as number[])];
  };
}
