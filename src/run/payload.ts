import * as types from "node:util/types";
import { brand, formatValue, PunctualError } from "../errors.ts";

/** A value that a payload can contain. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Default of `maxPayload`: 1 MiB of UTF-8. */
export const DEFAULT_MAX_PAYLOAD: number = 1024 * 1024;

const DEEPEST = 100;

/** The error names the exact size up to this many times the limit; measuring a larger payload could exhaust memory. */
const MEASURED = 8;

/**
 * Returns a value as JSON text; undefined for undefined. Throws INVALID_PAYLOAD with the path of a value that JSON
 * cannot represent, or PAYLOAD_TOO_LARGE with both sizes.
 */
export function encodePayload(
  value: unknown,
  maxBytes: number = DEFAULT_MAX_PAYLOAD,
  what: "args" | "progress" | "details" = "args",
): string | undefined {
  if (value === undefined) return undefined;
  const encoded = encode(value, what, maxBytes);
  const verb = what === "args" ? "dispatch" : "show";
  if (encoded.json !== undefined) return encoded.json;
  if (encoded.invalid)
    throw new PunctualError("INVALID_PAYLOAD", `Cannot ${verb} ${encoded.reason}`, encoded.options);
  throw new PunctualError(
    "PAYLOAD_TOO_LARGE",
    `Cannot ${verb} ${encoded.reason} Pass a reference, such as an id or a path, and let the handler load the data.`,
  );
}

/** Decodes JSON text; returns undefined for null and undefined. Throws INVALID_PAYLOAD for other text. */
export function decodePayload(text: string | null | undefined): JsonValue | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    const message = `Expected the stored arguments of a run to be JSON, got ${formatValue(text)}. Correct the row, or delete the run and dispatch it again.`;
    throw new PunctualError("INVALID_PAYLOAD", message, { cause });
  }
}

/**
 * Encodes the return value of a handler; `json` is null, with the reason in `dropped`, if JSON cannot represent it or
 * its text is too long. Never throws.
 */
export function encodeResult(
  value: unknown,
  maxBytes: number = DEFAULT_MAX_PAYLOAD,
): { json: string | null; dropped?: PunctualError } {
  if (value === undefined) return { json: null };
  const encoded = encode(value, "result", maxBytes);
  if (encoded.json !== undefined) return { json: encoded.json };
  const advice = encoded.invalid
    ? ""
    : " Store the data elsewhere and return a reference, such as an id or a path.";
  const code = encoded.invalid ? "INVALID_PAYLOAD" : "PAYLOAD_TOO_LARGE";
  return { json: null, dropped: new PunctualError(code, `Cannot keep ${encoded.reason}${advice}`) };
}

type EncodeResult =
  | { json: string }
  | { json?: undefined; invalid: true; reason: string; options?: ErrorOptions }
  | { json?: undefined; invalid: false; reason: string };

interface FaultSearch {
  root: string;
  /** Keys from the root to the current value; after a fault they remain as the path of the fault. */
  path: (string | number)[];
  parents: object[];
  /** Lower bound of the JSON text's length, so that a small graph that expands to gigabytes is refused early. */
  size: number;
  limit: number;
}

function encode(value: unknown, root: string, maxBytes: number): EncodeResult {
  const search: FaultSearch = { root, path: [], parents: [], size: 0, limit: maxBytes * MEASURED };
  let json: string | undefined;
  try {
    const fault = findFault(value, search);
    if (fault !== undefined) return { invalid: true, reason: `${pathText(root, search.path)}: ${fault}` };
    if (search.size > search.limit) return tooLarge(root, `more than ${search.limit}`, maxBytes);
    json = JSON.stringify(value);
  } catch (cause) {
    // Only getters and proxies of the payload itself can throw here.
    const reason = `${pathText(root, search.path)}: reading it threw ${thrown(cause)}. Pass plain values.`;
    return { invalid: true, reason, options: { cause } };
  }
  if (json === undefined)
    return { invalid: true, reason: `${root}: it changed while it was being read. Pass a copy.` };
  const bytes = Buffer.byteLength(json);
  return bytes > maxBytes ? tooLarge(root, String(bytes), maxBytes) : { json };
}

function tooLarge(root: string, bytes: string, maxBytes: number): EncodeResult {
  return { invalid: false, reason: `${root}: ${bytes} bytes of JSON, the limit is ${maxBytes}.` };
}

/** Returns why JSON cannot represent the value; undefined if it can. */
function findFault(value: unknown, search: FaultSearch): string | undefined {
  switch (typeof value) {
    case "string":
      search.size += value.length + 2;
      return undefined;
    case "number":
      search.size += 1;
      return Number.isFinite(value) ? undefined : `${value} is not JSON. Pass null, or leave it out.`;
    case "boolean":
      search.size += 4;
      return undefined;
    case "object":
      if (value !== null) return findFaultWithin(value, search);
      search.size += 4;
      return undefined;
    case "bigint":
      return "a BigInt is not JSON. Pass String(x) and read it with BigInt(...).";
    case "function":
      return "a function is not JSON. Pass the data that the handler needs, and call the function in the handler.";
    case "symbol":
      return "a symbol is not JSON. Pass text.";
    default:
      return "undefined is not JSON. Pass null.";
  }
}

function findFaultWithin(value: object, search: FaultSearch): string | undefined {
  const { path, parents } = search;
  const foreign = kindFault(value);
  if (foreign !== undefined) return foreign;
  // A cycle always exceeds the depth limit, so only values beyond it are searched for cycles.
  if (parents.length >= DEEPEST) return depthFault(value, search);
  parents.push(value);
  search.size += 2;
  const depth = path.length;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && search.size <= search.limit; index++) {
      path[depth] = index;
      const item: unknown = value[index];
      if (item === undefined && !(index in value))
        return "a hole in an array is not JSON. Fill it with null.";
      const fault = findFault(item, search);
      if (fault !== undefined) return fault;
    }
  } else {
    for (const key of Object.keys(value)) {
      if (search.size > search.limit) break;
      path[depth] = key;
      if (key === "__proto__")
        return "a key named __proto__ would change the prototype of what it is copied into. Rename it.";
      const item: unknown = (value as Record<string, unknown>)[key];
      if (item === undefined) continue;
      search.size += key.length + 3;
      const fault = findFault(item, search);
      if (fault !== undefined) return fault;
    }
  }
  path.length = depth;
  parents.pop();
  return undefined;
}

function depthFault(value: object, search: FaultSearch): string {
  const chain = [...search.parents, value];
  const again = chain.findIndex((item, index) => chain.indexOf(item) < index);
  if (again < 0) return `nesting deeper than ${DEEPEST} levels is refused. Pass a flatter shape.`;
  const first = chain.indexOf(chain[again]!);
  const back = pathText(search.root, search.path.slice(0, first));
  search.path.length = again;
  return `a circular reference, back to ${back}, is not JSON. Pass an id in its place.`;
}

/**
 * Returns undefined for arrays and plain objects, also of another realm (vm, test runners); for other objects, why JSON
 * cannot represent them.
 */
function kindFault(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  const plain = Array.isArray(value)
    ? prototype === Array.prototype || (Array.isArray(prototype) && isRoot(Object.getPrototypeOf(prototype)))
    : prototype === Object.prototype || prototype === null || isRoot(prototype);
  if (!plain) return foreignFault(value);
  return typeof (value as { toJSON?: unknown }).toJSON === "function"
    ? "an object with a toJSON method would be decoded as another value. Pass the result of its toJSON()."
    : undefined;
}

function isRoot(prototype: unknown): boolean {
  return (
    typeof prototype === "object" &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, "hasOwnProperty")
  );
}

function foreignFault(value: object): string {
  if (types.isDate(value))
    return "a Date is not JSON. Pass date.toISOString() and read it with new Date(...).";
  if (types.isMap(value)) return "a Map is not JSON. Pass [...map] and read it with new Map(...).";
  if (types.isSet(value)) return "a Set is not JSON. Pass [...set] and read it with new Set(...).";
  if (types.isPromise(value)) return "a Promise is not JSON. Await it first.";
  if (types.isNativeError(value)) return "an Error is not JSON. Pass error.message.";
  if (types.isRegExp(value)) return "a RegExp is not JSON. Pass its source.";
  const name = className(value);
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    const from = ArrayBuffer.isView(value) && Buffer.isBuffer(value) ? "buffer" : "Buffer.from(bytes)";
    return `${name} is not JSON. Pass base64 text, ${from}.toString("base64"), and read it with Buffer.from(text, "base64").`;
  }
  if (value instanceof URL) return "a URL is not JSON. Pass url.href and read it with new URL(...).";
  return `${name} is not JSON: its class would be lost. Pass a plain object with the fields that the handler needs.`;
}

function className(value: object): string {
  const name: unknown = value.constructor?.name;
  if (typeof name !== "string" || name === "" || name.length > 80) return "an object with a prototype";
  return `${/^[aeio]/i.test(name) ? "an" : "a"} ${name}`;
}

function thrown(cause: unknown): string {
  try {
    return formatValue(cause instanceof Error ? cause.message : cause);
  } catch {
    return "an error";
  }
}

function pathText(root: string, path: (string | number)[]): string {
  const steps = path.map((key) => {
    if (typeof key === "number") return `[${key}]`;
    return /^[\p{L}_$][\p{L}\p{N}_$]{0,79}$/u.test(key) ? `.${key}` : `[${formatValue(key)}]`;
  });
  if (steps.length <= 12) return root + steps.join("");
  return `${root}${steps.slice(0, 8).join("")}…${steps.slice(-4).join("")}`;
}

/** Returns JSON text that was checked as the value in it would be; null for `null`, which means no arguments. */
function checkJson(json: string, maxBytes: number): string | null {
  let value: unknown;
  try {
    if (typeof json !== "string" || !json.isWellFormed()) throw new TypeError(formatValue(json));
    value = JSON.parse(json);
  } catch (cause) {
    const message = `Expected arguments as JSON text, got ${formatValue(json)}: ${thrown(cause)}.`;
    throw new PunctualError("INVALID_PAYLOAD", message, { cause });
  }
  if (value === null) return null;
  encodePayload(value, maxBytes);
  const text = json.trim();
  const size = Buffer.byteLength(text);
  if (size <= maxBytes) return text;
  throw new PunctualError(
    "PAYLOAD_TOO_LARGE",
    `Cannot dispatch args: the JSON text has ${size} bytes, at most ${maxBytes} are allowed (maxPayload).`,
  );
}

/**
 * Arguments, encoded when they are given: later changes of the object are not sent. Arguments that cannot be encoded
 * throw when they are read.
 */
export class EncodedArgs {
  #json: string | undefined;
  readonly #refusal: { reason: unknown } | null = null;

  constructor(value: unknown, maxBytes: number) {
    try {
      this.#json = encodePayload(value, maxBytes);
    } catch (reason) {
      this.#refusal = { reason };
    }
  }

  /** Arguments that are stored already, or null for none: their text is copied, so that large integers stay exact. */
  static stored(json: string | null): EncodedArgs {
    const args = new EncodedArgs(undefined, 0);
    args.#json = json ?? undefined;
    return args;
  }

  /** Arguments as JSON text, which is stored as it is: integers beyond 2^53 stay exact. Throws if it is not valid. */
  static fromJson(json: string, maxBytes: number): EncodedArgs {
    return EncodedArgs.stored(checkJson(json, maxBytes));
  }

  static of(args: unknown, maxBytes: number): EncodedArgs {
    return args instanceof EncodedArgs ? args : new EncodedArgs(args, maxBytes);
  }

  /** Null: no arguments were given. Throws the error of arguments that cannot be encoded. */
  get json(): string | null {
    if (this.#refusal) throw this.#refusal.reason;
    return this.#json ?? null;
  }

  /** The arguments as the handler will get them. */
  get value(): JsonValue {
    return decodePayload(this.json) ?? {};
  }
}

brand(EncodedArgs, "EncodedArgs");
