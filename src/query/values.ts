import { instantOf, zoneOf } from "../schedule/zones.ts";
import type { NumberMatch, TextMatch } from "../store/search.ts";
import { isWallTime, toInstant, toMilliseconds } from "../time.ts";
import type { Value } from "./terms.ts";
import { invalidQuery } from "./terms.ts";

/** Returns the text of a value without its quotes. */
export function plain(value: Value): string {
  return value.map(({ text }) => text).join("");
}

/** Whether no piece of the value is in quotes; a number in quotes is text. */
export function isBare(value: Value): boolean {
  return value.every(({ quoted }) => !quoted);
}

/** Splits a value at its stars, except those in quotes. */
export function splitAtStars(value: Value): string[] {
  const found = [""];
  for (const { text, quoted } of value) {
    const [first = "", ...rest] = quoted ? [text] : text.split(/\*+/);
    found.push(found.pop() + first, ...rest);
  }
  return found;
}

/** Returns a match for the value, or for its pattern if it has a star. */
export function toText(value: Value): TextMatch {
  const like = splitAtStars(value);
  return like.length === 1 ? { is: like[0]! } : { like };
}

/** Returns a match for any text that contains the value. */
export function toPart(value: Value): TextMatch {
  return { like: ["", ...splitAtStars(value), ""] };
}

const COMPARISON = /^(>=|<=|>|<|=)?(.*)$/s;

function splitComparison(value: Value): { op: NumberMatch["op"] | null; rest: string } {
  const [, op, rest] = COMPARISON.exec(plain(value))!;
  return { op: (op as NumberMatch["op"]) ?? null, rest: rest!.trim() };
}

/** Reads a number or a comparison, such as `3` or `>=3`. */
export function toNumber(field: string, value: Value): NumberMatch {
  const { op, rest } = splitComparison(value);
  if (/^\d{1,15}$/.test(rest)) return { op: op ?? "=", value: Number(rest) };
  throw invalidQuery(
    `Expected "${field}:" to be a whole number such as "${field}:3" or "${field}:>=3", got "${field}:${plain(value)}".`,
  );
}

/** Reads a comparison such as `>5s`. Equality is refused: no run takes exactly five seconds. */
export function toDuration(field: string, value: Value): NumberMatch {
  const { op, rest } = splitComparison(value);
  const ms = durationOf(rest);
  if (op !== null && op !== "=" && ms !== null) return { op, value: ms };
  throw invalidQuery(
    `Expected "${field}:" to be a comparison with a duration such as "${field}:>5s" or "${field}:<=1m", got "${field}:${plain(value)}".`,
  );
}

function durationOf(text: string): number | null {
  try {
    // A plain number means seconds, as in the API.
    return toMilliseconds(/^\d+(\.\d+)?$/.test(text) ? Number(text) : text);
  } catch {
    return null;
  }
}

/** Reads an instant, or a duration before now, as UTC milliseconds. A time without an offset is read in the zone. */
export function toTime(field: string, value: Value, { now, zone }: { now: number; zone: string }): number {
  const text = plain(value);
  const ago = durationOf(text);
  if (ago !== null) return now - ago;
  try {
    const instant = toInstant(text);
    return isWallTime(text) ? instantOf(zoneOf(zone), instant) : instant;
  } catch (error) {
    if ((error as { code?: unknown }).code === "INVALID_ZONE") throw error;
    throw invalidQuery(
      `Expected "${field}:" to be how long ago, such as "${field}:24h", or a time such as "${field}:2026-11-15T10:00", got "${field}:${text}".`,
    );
  }
}
