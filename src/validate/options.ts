import { formatValue, PunctualError } from "../errors.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { closeNames } from "./names.ts";

/** The names of all options of a type: the compiler rejects a list that lacks one or has another one. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/** Returns the names of the options that `options` has. */
export function namesOf<Options extends object>(options: Options): OptionNames<Options> {
  return Object.fromEntries(Object.keys(options).map((name) => [name, true])) as OptionNames<Options>;
}

/** Throws INVALID_OPTION for an unknown key: a misspelt option must not be silently ignored. */
export function checkKeys<Options extends object>(
  options: Options,
  known: OptionNames<NoInfer<Options>>,
  what: string,
): void {
  const allowed = Object.keys(known);
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${what} expected its options as an object, got ${formatValue(options)}. Known: ${allowed.join(", ")}.`,
    );
  }
  for (const key of Object.keys(options)) {
    if (allowed.includes(key)) continue;
    const close = closeNames(key, allowed)[0];
    throw new PunctualError(
      "INVALID_OPTION",
      `${what} has no option ${formatValue(key)}.${close ? ` Did you mean "${close}"?` : ""} Known: ${allowed.join(", ")}.`,
    );
  }
}

/** Returns the options without those that are `undefined`: they count as not given. */
export function withoutUndefined<Options extends object>(options: Options): Options {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Options;
}

/** Throws INVALID_OPTION unless the value is a whole number from `least` to `most`. */
export function checkInteger(
  value: unknown,
  what: string,
  least: number = -(2 ** 31),
  most: number = 2 ** 31 - 1,
): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  const isAbove = typeof value === "number" && value > most;
  const range = isAbove ? ` of at most ${most}` : least <= -(2 ** 31) ? "" : ` of at least ${least}`;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected ${what} as a whole number${range}, got ${formatValue(value)}.`,
  );
}

export function checkFunction<Fn>(value: Fn, what: string): Fn {
  if (typeof value === "function") return value;
  throw new PunctualError("INVALID_OPTION", `${what} expected a function, got ${formatValue(value)}.`);
}

/**
 * Returns a timeout in milliseconds; throws INVALID_OPTION unless it is above 0. `unset` is the message's hint about
 * leaving the option out.
 */
export function checkTimeout(timeout: Duration, what = "timeout", unset = "For none, leave it out."): number {
  const ms = toMilliseconds(timeout, `a ${what}`);
  if (ms > 0) return ms;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected a ${what} of more than 0, got ${formatValue(timeout)}. ${unset}`,
  );
}

export function checkHookTimeout(timeout: Duration): number {
  return checkTimeout(timeout, "hookTimeout", "Without one it is 30 s.");
}
