import * as types from "node:util/types";
import { isA, PunctualError } from "../errors.ts";
import { CRASHED } from "./states.ts";

/** A thrown value in a form that every database stores: text without NUL or lone surrogates, bounded in size. */
export interface Failure {
  name: string;
  message: string;
  stack: string | null;
  code: string | null;
  cause: Failure | null;
}

const LONGEST_NAME = 256;
const LONGEST_MESSAGE = 8 * 1024;
const LONGEST_STACK = 16 * 1024;
const LONGEST_TEXT = 64 * 1024;
const DEEPEST_CAUSE = 5;
const NAMED_ERRORS = 3;

/** Converts a thrown value. Never throws. */
export function toFailure(thrown: unknown): Failure {
  try {
    return describe(thrown, 0, new Set());
  } catch {
    return plainFailure("an error that cannot be read was thrown");
  }
}

/** Returns an error as it is, and anything else that was thrown as the `cause` of a new one; never throws. */
export function toError(thrown: unknown): Error {
  if (isA(thrown, Error) || types.isNativeError(thrown)) return thrown;
  return new Error(toFailure(thrown).message, { cause: thrown });
}

/** Returns JSON text of at most 64 KiB. If it is too long, causes are shortened before the error itself. */
export function failureText(failure: Failure): string {
  for (let share = 1; ; share /= 2) {
    const text = JSON.stringify(bounded(failure, share, 0));
    if (Buffer.byteLength(text) <= LONGEST_TEXT) return text;
  }
}

/** Reads the text of `failureText()`; any other text becomes the message of a plain error. */
export function readFailure(text: string | null): Failure | null {
  if (text === null) return null;
  try {
    return revive(JSON.parse(text), 0) ?? plainFailure(text);
  } catch {
    return plainFailure(text);
  }
}

/** Returns 16 hex digits, equal for errors that differ only in numbers, ids or quoted names. */
export function fingerprint(failure: Failure): string {
  const parts = [failure.name, withoutParticulars(failure.message), firstFrame(failure)];
  // Loaded with the first failure, because it costs a process 3 MB.
  const { hash } = process.getBuiltinModule("node:crypto");
  return hash("sha256", parts.join("\n"), "hex").slice(0, 16);
}

/** Returns the fingerprint of runs that failed with this stored error; null: there is none. */
export function fingerprintOf(text: string | null): string | null {
  const failure = readFailure(text);
  if (failure === null) return null;
  return failure.code === "RUN_CRASHED" ? CRASHED : fingerprint(failure);
}

function plainFailure(message: string): Failure {
  return {
    name: "Error",
    message: storableText(message, LONGEST_MESSAGE),
    stack: null,
    code: null,
    cause: null,
  };
}

function describe(thrown: unknown, depth: number, seen: Set<unknown>): Failure {
  if (typeof thrown === "string") return plainFailure(thrown);
  if (!isObject(thrown)) return plainFailure(`${String(thrown)} was thrown`);
  seen.add(thrown);
  const name = nameOf(thrown);
  const code = read(thrown, "code");
  const cause = read(thrown, "cause");
  const message = messageOf(thrown);
  const deeper = cause !== undefined && cause !== null && depth < DEEPEST_CAUSE && !seen.has(cause);
  return {
    name: storableText(name, LONGEST_NAME),
    message: storableText(message, LONGEST_MESSAGE, firstErrors(thrown, name)),
    stack: stackOf(thrown, message),
    code:
      (typeof code === "string" && code !== "") || typeof code === "number"
        ? storableText(String(code), LONGEST_NAME)
        : null,
    cause: deeper ? describe(cause, depth + 1, seen) : null,
  };
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Reads a property; undefined if its getter or a proxy throws. */
function read(from: object, key: string): unknown {
  try {
    return (from as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

/**
 * Returns the `name` of an error; if that is the inherited "Error", as in `class PaymentError extends Error {}`, the
 * name of its class.
 */
function nameOf(thrown: object): string {
  if (typeof thrown === "function") return "Error";
  const name = read(thrown, "name");
  if (typeof name === "string" && name !== "" && name !== "Error") return name;
  const maker = read(thrown, "constructor");
  const className = typeof maker === "function" ? read(maker, "name") : undefined;
  return typeof className === "string" && className !== "" && className !== "Object" ? className : "Error";
}

function messageOf(thrown: object): string {
  const message = read(thrown, "message");
  if (typeof message === "string") return message;
  if (types.isNativeError(thrown)) return "(the message of this error cannot be read)";
  try {
    const { inspect } = process.getBuiltinModule("node:util");
    const shown = inspect(thrown, {
      depth: 2,
      breakLength: Number.POSITIVE_INFINITY,
      maxArrayLength: 20,
      maxStringLength: 1000,
    });
    return `${shown} was thrown`;
  } catch {
    return "an object that cannot be shown was thrown";
  }
}

/**
 * Returns the first errors of an AggregateError, whose own message is often empty, as for Node's failed connections.
 */
function firstErrors(thrown: object, name: string): string {
  const errors = read(thrown, "errors");
  try {
    if (!Array.isArray(errors) || !(name === "AggregateError" || thrown instanceof AggregateError)) return "";
    const named = Array.from({ length: Math.min(errors.length, NAMED_ERRORS) }, (_, index) => {
      const error: unknown = errors[index];
      return storableText(isObject(error) ? `${nameOf(error)}: ${messageOf(error)}` : String(error), 500);
    });
    const more = errors.length > named.length ? "; …" : "";
    return ` (${errors.length} errors: ${named.join("; ")}${more})`;
  } catch {
    return "";
  }
}

function stackOf(thrown: object, message: string): string | null {
  const stack = read(thrown, "stack");
  if (typeof stack !== "string" || stack === "") return null;
  // V8 puts the message before the frames: a long message would leave no space for any frame.
  const at = message.length > 1000 ? stack.indexOf(message) : -1;
  const short =
    at < 0 ? stack : `${stack.slice(0, at)}${message.slice(0, 500)}…${stack.slice(at + message.length)}`;
  return storableText(short, LONGEST_STACK);
}

function bounded(failure: Failure, share: number, depth: number): Failure {
  const scale = depth === 0 ? Math.min(1, share * 4) : share;
  return {
    name: storableText(failure.name, LONGEST_NAME),
    message: storableText(failure.message, LONGEST_MESSAGE * scale),
    stack: failure.stack === null ? null : storableText(failure.stack, LONGEST_STACK * scale),
    code: failure.code === null ? null : storableText(failure.code, LONGEST_NAME),
    cause: failure.cause && depth < DEEPEST_CAUSE ? bounded(failure.cause, share, depth + 1) : null,
  };
}

function revive(value: unknown, depth: number): Failure | null {
  if (typeof value !== "object" || value === null || depth > DEEPEST_CAUSE) return null;
  const { name, message, stack, code, cause } = value as Record<string, unknown>;
  if (typeof name !== "string" || typeof message !== "string") return null;
  return {
    name,
    message,
    stack: typeof stack === "string" ? stack : null,
    code: typeof code === "string" ? code : null,
    cause: revive(cause, depth + 1),
  };
}

function withoutParticulars(message: string): string {
  return (
    message
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, "#")
      // An apostrophe inside a word ("can't") does not begin a quotation.
      .replace(/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g, "#")
      .replace(/\b(?=[a-f]*\d)(?:0x[0-9a-f]+|[0-9a-f]{8,})\b/gi, "#")
      .replace(/\d+/g, "#")
  );
}

/**
 * Returns the function and the file name of the first frame, without its folder, which differs between machines and
 * releases.
 */
function firstFrame(failure: Failure): string {
  if (failure.stack === null) return "";
  const at = failure.stack.indexOf(failure.message);
  const frames = at < 0 ? failure.stack : failure.stack.slice(at + failure.message.length);
  const line = frames.split("\n", 200).find((candidate) => candidate.trimStart().startsWith("at "));
  if (line === undefined) return "";
  const frame = line.trim().slice(3);
  const open = frame.lastIndexOf(" (");
  const name = open < 0 ? "" : frame.slice(0, open).replace(/^async /, "");
  const file = frame
    .slice(open < 0 ? 0 : open + 2)
    .replace(/\)$/, "")
    .replace(/(?::\d+){1,2}$/, "")
    .replace(/\?.*$/, "");
  return `${name} ${file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1)}`;
}

/**
 * Returns at most `longest` bytes of UTF-8 that every database stores. Cuts the text, but keeps `tail` (up to half)
 * whole.
 */
export function storableText(text: string, longest: number, tail = ""): string {
  const end = tail && cut(wellFormed(tail.slice(0, longest)), longest / 2);
  // Every character has at least one byte: of a text of ten megabytes only the beginning is processed.
  const start = wellFormed(text.slice(0, longest + 1));
  return cut(start, longest - Buffer.byteLength(end)) + end;
}

function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

function cut(text: string, longest: number): string {
  if (Buffer.byteLength(text) <= longest) return text;
  const mark = "… (cut)";
  const room = new Uint8Array(Math.max(0, Math.floor(longest) - Buffer.byteLength(mark)));
  return text.slice(0, new TextEncoder().encodeInto(text, room).read) + mark;
}

/** Returns the failure of an attempt that was lost with its process, as JSON. */
export function crashText(message: string): string {
  // Without the stack: it shows where the crash was noticed, not what caused it.
  return failureText({ ...toFailure(new PunctualError("RUN_CRASHED", message)), stack: null });
}

/** The failure of a started attempt that is not charged with the crash. */
export const unchargedLoss: string = crashText(
  "Its worker died, or lost its leases. Not charged: other runs that the worker executed one after the other were lost with it, and any of them may have ended the process.",
);

/** The failure of an attempt of which it is not known whether it had started. */
export const unmarkedLoss: string = crashText(
  "Its worker died, or lost its leases, before it wrote whether this run had started: the handler may have been called. Not charged.",
);
