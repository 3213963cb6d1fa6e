import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";

/** Reads the arguments, as JSON, from `@file`, or from standard input for `-`, and applies the changes of `--set`. */
export async function readPayload(given: string | undefined, set: readonly string[]): Promise<unknown> {
  let payload = given === undefined ? undefined : parse(await read(given), given);
  for (const change of set) payload = apply(payload, change);
  return payload;
}

async function read(given: string): Promise<string> {
  if (given === "-") return text(process.stdin);
  if (!given.startsWith("@")) return given;
  const file = given.slice(1);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Exit(
      exitCodes.usage,
      code === "ENOENT" ? `There is no file ${plain(file)}.` : `${plain(file)} cannot be read (${code}).`,
    );
  }
}

function parse(json: string, given: string): unknown {
  try {
    return parseExactly(json.replace(/^\uFEFF/, ""));
  } catch (error) {
    if (error instanceof Exit) throw error;
    const from =
      given === "-" ? "standard input" : given.startsWith("@") ? plain(given.slice(1)) : "the arguments";
    throw new Exit(
      exitCodes.usage,
      `Expected JSON in ${from}: ${plain((error as Error).message)}. Quote the JSON with single quotes, or use --set key=value.`,
    );
  }
}

type Holder = Record<string, unknown>;

/** Applies `a.b=1`. The value is JSON; if it cannot be parsed, text. */
function apply(payload: unknown, change: string): unknown {
  const at = change.indexOf("=");
  const path = change.slice(0, Math.max(0, at)).split(".");
  if (at < 1 || path.some((part) => part === "")) {
    throw new Exit(exitCodes.usage, `Expected --set key=value or --set a.b=value, got ${plain(change)}.`);
  }
  const value = jsonOrText(change.slice(at + 1));
  const whole = payload ?? {};
  let holder = whole as Holder;
  for (const [index, part] of path.entries()) {
    if (typeof holder !== "object" || holder === null) {
      const before = path.slice(0, index).join(".") || "the arguments";
      throw new Exit(
        exitCodes.usage,
        `--set ${plain(change)}: ${plain(before)} is not an object, so it has no keys to set.`,
      );
    }
    const own = Object.hasOwn(holder, part) ? holder[part] : undefined;
    const next = index === path.length - 1 ? value : (own ?? {});
    // Not an assignment: that would treat "__proto__" specially.
    Object.defineProperty(holder, part, {
      value: next,
      enumerable: true,
      writable: true,
      configurable: true,
    });
    holder = next as Holder;
  }
  return whole;
}

function jsonOrText(given: string): unknown {
  try {
    return parseExactly(given);
  } catch (error) {
    if (error instanceof Exit) throw error;
    return given;
  }
}

/** Parses JSON. Throws for a number beyond 2^53 - 1 that would lose digits; `1e20` is exact and passes. */
function parseExactly(json: string): unknown {
  const check = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source ?? "";
    if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER && !isRound(value, source)) {
      throw new Exit(
        exitCodes.usage,
        `${plain(source)} is beyond 2^53 - 1, and a handler would get ${value}. Pass it as text: "${plain(source)}"`,
      );
    }
    return value;
  };
  return JSON.parse(json, check);
}

/** Whether the text has an exponent and JavaScript prints the same digits: `1e20`, not `12345678901234567890e0`. */
function isRound(value: number, source: string): boolean {
  return /e/i.test(source) && significand(source) === significand(value.toExponential());
}

/** Returns the digits of a number without leading and trailing zeros. */
function significand(text: string): string {
  return text
    .replace(/e.*$/i, "")
    .replace(/\D/g, "")
    .replace(/^0+|0+$/g, "");
}
