import * as types from "node:util/types";
import { toFailure } from "./failure.ts";

/** Most bytes of JSON that are stored with a line. */
const LONGEST_DATA: number = 16 * 1024;

const DEEPEST = 20;

/** Begins the log line of a run whose result was not kept. */
const LOST_RESULT = "The result was not kept: ";

/**
 * Encodes the data of a log line as JSON text; null without data. Unlike a payload, it accepts any value (an Error, a
 * Date, a Map), because a log is read by people and never decoded into the same value. Never throws.
 */
export function encodeLogData(data: unknown, longest: number = LONGEST_DATA): string | null {
  if (data === undefined) return null;
  const copy: PlainCopy = { parents: [], left: longest };
  const omitted = (size: string | number) =>
    JSON.stringify(`(left out: ${size} bytes of JSON, at most ${longest} are kept)`);
  try {
    const json = JSON.stringify(toPlain(data, copy));
    const bytes = Buffer.byteLength(json);
    return bytes <= longest ? json : omitted(bytes);
  } catch {
    return copy.left < 0 ? omitted(`more than ${longest}`) : '"(cannot be read)"';
  }
}

interface PlainCopy {
  parents: object[];
  /** Upper bound of the bytes left: every character has at least one byte. */
  left: number;
}

class TooLarge extends Error {}

function toPlain(value: unknown, copy: PlainCopy): unknown {
  copy.left -= typeof value === "string" ? value.length + 2 : 1;
  if (copy.left < 0) throw new TooLarge();
  switch (typeof value) {
    case "object":
      return value === null ? null : objectToPlain(value, copy);
    case "bigint":
    case "symbol":
      return String(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "function":
      return `[function ${value.name}]`;
    default:
      return value;
  }
}

function objectToPlain(value: object, copy: PlainCopy): unknown {
  if (copy.parents.includes(value)) return "[circular]";
  if (copy.parents.length >= DEEPEST) return "[deeper]";
  copy.parents.push(value);
  try {
    return contentsOf(value, copy);
  } finally {
    copy.parents.pop();
  }
}

function contentsOf(value: object, copy: PlainCopy): unknown {
  if (types.isNativeError(value) || value instanceof Error) return fieldsOf(toFailure(value), copy);
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (types.isMap(value)) return fieldsOf(Object.fromEntries(value), copy);
  if (types.isSet(value)) return [...value].map((item) => toPlain(item, copy));
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return `[${value.byteLength} bytes]`;
  const toJson = (value as { toJSON?: unknown }).toJSON;
  if (typeof toJson === "function") return toPlain(toJson.call(value), copy);
  if (Array.isArray(value)) return Array.from(value, (item) => toPlain(item, copy));
  return fieldsOf(value, copy);
}

function fieldsOf(value: object, copy: PlainCopy): unknown {
  // Without a prototype, a field named __proto__ is an ordinary field.
  const plain: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value)) {
    copy.left -= key.length + 3;
    try {
      plain[key] = toPlain((value as Record<string, unknown>)[key], copy);
    } catch (error) {
      if (error instanceof TooLarge) throw error;
      plain[key] = "(cannot be read)";
    }
  }
  return plain;
}

/** Returns the line that the log of a completed run gets if its result cannot be kept. */
export function lostResultLine(reason: string): string {
  return `${LOST_RESULT}${reason}`;
}

/** Returns why the result of a run was not kept, according to its log; null: the log does not say so. */
export function lostResultReason(lines: readonly { message: string }[]): string | null {
  const line = lines.findLast(({ message }) => message.startsWith(LOST_RESULT));
  return line ? line.message.slice(LOST_RESULT.length) : null;
}
