import { InvalidArgumentError } from "commander";
import { formatValue, PunctualError } from "../../errors.ts";
import { type Address, toAddress } from "../../metrics/listen.ts";
import { instantOf, zoneOf } from "../../schedule/zones.ts";
import { type Duration, type Instant, isWallTime, toInstant, toMilliseconds, toOffset } from "../../time.ts";
import { checkName } from "../../validate/names.ts";
import { readQueues } from "../../validate/queue-list.ts";
import { type QueueOptions, toWeightedQueues } from "../../worker/options.ts";
import { grouped } from "../render/formats.ts";
import { didYouMean } from "./names.ts";

/** Returns a parser of whole numbers within these bounds. */
export function integer(least: number, most: number = 2 ** 31 - 1): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^[+-]?\d+$/.test(text) && number >= least && number <= most) return number;
    const bound = number > most ? `at most ${grouped(most)}` : `at least ${grouped(least)}`;
    throw new InvalidArgumentError(`Expected a whole number of ${bound}.`);
  };
}

/** Parses decimal digits up to 2^53 - 1; null: anything else. */
export function wholeNumber(text: string): number | null {
  const number = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(number) ? number : null;
}

/** Checks `30s`, `5m` or a number of seconds, and returns it in the form that the library takes. */
export function duration(text: string): Duration {
  const given = /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  return refusing(() => {
    toMilliseconds(given);
    return given;
  });
}

/**
 * Checks a time and returns its text unchanged: the zone of a time without an offset is not known yet, and `+5s`
 * counts from the dispatch.
 */
export function instant(text: string): Instant {
  return refusing(() => {
    if (toOffset(text) === null) toInstant(text);
    return text;
  });
}

/** Returns the instant of `2027-03-27T10:00`, as local time of the zone unless the text has an offset. */
export function instantIn(zone: string, text: string): number {
  const ms = toInstant(text);
  return isWallTime(text) ? instantOf(zoneOf(zone), ms) : ms;
}

/** Returns a parser of `a,b`, where each is one of the known values; may be repeated. */
export function among<Known extends string>(
  known: readonly Known[],
): (text: string, before: Known[] | undefined) => Known[] {
  return (text, before = []) => [
    ...before,
    ...text.split(",").map((given) => {
      const found = known.find((one) => one === given.trim());
      if (found !== undefined) return found;
      throw new InvalidArgumentError(
        `Expected ${known.join(", ")}, got ${formatValue(given.trim())}.${didYouMean(given.trim(), known)}`,
      );
    }),
  ];
}

export function name(what: string): (text: string) => string {
  return (text) => refusing(() => checkName(text, what));
}

/** Returns a parser of names, `a,b`; may be repeated. */
export function names(what: string): (text: string, before: string[] | undefined) => string[] {
  return (text, before = []) =>
    refusing(() => {
      const given = text.split(",").map((one) => one.trim());
      return [...before, ...given.map((one) => checkName(one, what))];
    });
}

/** All values of `--queues`, joined and parsed. */
export interface QueueChoice {
  text: string;
  options: QueueOptions;
}

/** Parses `emails,reports*2,!bulk`; may be repeated. */
export function queues(text: string, before: QueueChoice | undefined): QueueChoice {
  return refusing(() => {
    const whole = before ? `${before.text},${text}` : text;
    const options = readQueues(whole);
    toWeightedQueues(options);
    return { text: whole, options };
  });
}

/** Parses a size, `512` (megabytes), `512M` or `1G`, and returns bytes. */
export function bytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kmg]?)b?$/i.exec(text.trim());
  const size = match ? Number(match[1]) * 1024 ** { k: 1, m: 2, g: 3, "": 2 }[match[2]!.toLowerCase()]! : 0;
  if (size > 0) return Math.round(size);
  throw new InvalidArgumentError("Expected megabytes, or a size such as 512M or 1G.");
}

/** Parses `4481` or `0.0.0.0:4481`. */
export function address(text: string): Address {
  return refusing(() => toAddress(text));
}

function refusing<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof PunctualError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}
