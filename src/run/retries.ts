import { backoffCeiling } from "../backoff.ts";
import { formatValue, PunctualError } from "../errors.ts";
import { realRandom } from "../random.ts";
import { DAY, toMilliseconds } from "../time.ts";
import { checkFunction, checkInteger, checkKeys } from "../validate/options.ts";

/** Spread of the waits: `full` draws a random wait up to the computed one, `none` waits exactly that long. */
export type Jitter = "full" | "none";

/** When and how often a failed run is retried; `base` and `cap` in seconds. */
export interface RetryPolicy {
  /** Attempts in all, the first included. */
  max: number;
  /** Wait before the first retry; it doubles with each further one. */
  base: number;
  /** Longest wait. */
  cap: number;
  jitter: Jitter;
  /** Replaces the formula: returns the wait before the next attempt, in seconds or as text such as `"5m"`. */
  backoff?: (failures: number, error: unknown) => number | string;
  /** Whether this error is retried. */
  when?: (error: unknown) => boolean;
}

/** A policy of which any member may be left out. */
export type RetryOptions = { [Name in keyof RetryPolicy]?: RetryPolicy[Name] | undefined };

/** Longest wait of any policy, a century: later dates overflow in some databases. */
const LONGEST = 36_500 * DAY;

/**
 * Returns the milliseconds to wait after `failures` failed attempts (1 or more). `random` returns numbers in [0, 1).
 */
export function retryDelay(
  policy: RetryPolicy,
  failures: number,
  error: unknown,
  random: () => number = realRandom,
): number {
  const chosen = policy.backoff && askPolicy(policy.backoff, failures, error);
  if (chosen !== undefined) return Math.min(chosen, LONGEST);
  const longest = Math.min(policy.cap * 1000, LONGEST);
  const ceiling = backoffCeiling(failures, { first: policy.base * 1000, longest });
  return Math.round(policy.jitter === "full" ? random() * ceiling : ceiling);
}

/**
 * Returns undefined when the function throws or returns no duration: the run is retried although the function is
 * broken.
 */
function askPolicy(
  backoff: NonNullable<RetryPolicy["backoff"]>,
  failures: number,
  error: unknown,
): number | undefined {
  try {
    const answer: unknown = backoff(failures, error);
    // An async function is a mistake here; its unhandled rejection would end the process as well.
    if (answer instanceof Promise) answer.catch(() => {});
    return toMilliseconds(answer as number | string);
  } catch {
    return undefined;
  }
}

/** Arguments of `attempts()` and of `retries()`: one object or number, or the policy's numbers by position. */
export type RetriesArguments = [
  policy: number | RetryOptions,
  base?: number | undefined,
  cap?: number | undefined,
  jitter?: Jitter | undefined,
];

const NUMBERS = ["max", "base", "cap", "jitter"] as const;

/** Two names of the same setting: `attempts(3)` and `retries(3)` both allow three attempts in all. */
export type RetriesName = "attempts" | "retries";

/**
 * Returns the checked policy of the arguments of `attempts()` or `retries()`; members that are not given are absent.
 */
export function toPolicy(given: RetriesArguments, name: RetriesName): Partial<RetryPolicy> {
  const [first, ...rest] = given as [number | RetryOptions, ...unknown[]];
  const policy = typeof first === "number" ? byPosition([first, ...rest], name) : first;
  checkKeys(
    policy,
    { max: true, base: true, cap: true, jitter: true, backoff: true, when: true },
    `${name}()`,
  );
  if (typeof first !== "number" && rest.some((value) => value !== undefined)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${name}() expected one object, or max, base, cap and jitter by position, got both: ${formatValue(given)}.`,
    );
  }
  const entries = Object.entries(policy).filter(([, value]) => value !== undefined);
  const present = Object.fromEntries(entries) as Partial<RetryPolicy>;
  check(present, name);
  return present;
}

/**
 * Returns the value of `attempts` or `retries` in an object of options, and which of the two was given. Throws if both
 * were.
 */
export function retriesIn(
  options: { attempts?: unknown; retries?: unknown },
  what: string,
): { name: RetriesName; given: RetriesArguments } | null {
  const { attempts, retries } = options;
  if (attempts !== undefined && retries !== undefined) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${what} got both attempts (${formatValue(attempts)}) and retries (${formatValue(retries)}), which are two names of one option. Leave out retries.`,
    );
  }
  if (attempts !== undefined) return { name: "attempts", given: [attempts] as RetriesArguments };
  return retries === undefined ? null : { name: "retries", given: [retries] as RetriesArguments };
}

function byPosition(values: unknown[], name: RetriesName): RetryOptions {
  if (values.length > NUMBERS.length) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${name}() expected at most max, base, cap and jitter, got ${formatValue(values)}.`,
    );
  }
  return Object.fromEntries(values.map((value, index) => [NUMBERS[index]!, value]));
}

function check(policy: Partial<RetryPolicy>, retries: RetriesName): void {
  const { max, jitter, backoff, when } = policy;
  if (max !== undefined) checkInteger(max, `${retries} max (attempts in all)`, 1);
  for (const name of ["base", "cap"] as const) {
    const seconds = policy[name];
    if (seconds === undefined || (Number.isFinite(seconds) && seconds >= 0)) continue;
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected ${retries} ${name} in seconds, 0 or more, got ${formatValue(seconds)}.`,
    );
  }
  if (jitter !== undefined && jitter !== "full" && jitter !== "none") {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected ${retries} jitter "full" or "none", got ${formatValue(jitter)}.`,
    );
  }
  if (backoff !== undefined) checkFunction(backoff, `${retries} backoff`);
  if (when !== undefined) checkFunction(when, `${retries} when`);
}

/**
 * Returns the policy of one dispatch as it is stored with the run. Functions are refused: another process may execute
 * the run.
 */
export function toStoredPolicy(given: RetriesArguments, name: RetriesName): string {
  const policy = toPolicy(given, name);
  const named = Object.keys(policy).find((key) => key === "backoff" || key === "when");
  if (named === undefined) return JSON.stringify(policy);
  throw new PunctualError(
    "INVALID_OPTION",
    `The ${name} of one dispatch take max, base, cap and jitter; ${named} is a function, which cannot be stored with a run. Give it to the job's own ${name}().`,
  );
}

/**
 * Returns the policy of a run: its job's, with the changes of its dispatch. Waits set by the dispatch replace the job's
 * `backoff`.
 */
export function policyOf(job: RetryPolicy, stored: string | null): RetryPolicy {
  if (stored === null) return job;
  const own = JSON.parse(stored) as Partial<RetryPolicy>;
  const { backoff, ...rest } = job;
  const waits = own.base !== undefined || own.cap !== undefined || own.jitter !== undefined;
  return { ...rest, ...(backoff && !waits && { backoff }), ...own };
}
