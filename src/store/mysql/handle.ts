import type { MysqlConnection, MysqlPool } from "./driver.ts";

type Shape = Partial<
  Record<
    "promise" | "execute" | "query" | "getConnection" | "beginTransaction" | "pool" | "connection",
    unknown
  >
>;

function shapeOf(value: unknown): Shape {
  return (typeof value === "object" || typeof value === "function") && value !== null ? value : {};
}

/** Callbacks, or promises around it: only mysql2 has something that turns the one into the other. */
function isCore(value: unknown): boolean {
  const { promise, execute } = shapeOf(value);
  return typeof promise === "function" && typeof execute === "function";
}

function isAnyPool(value: unknown): boolean {
  const shape = shapeOf(value);
  return typeof shape.getConnection === "function" && (isCore(value) || isCore(shape.pool));
}

function isAnyConnection(value: unknown): boolean {
  const shape = shapeOf(value);
  return typeof shape.beginTransaction === "function" && (isCore(value) || isCore(shape.connection));
}

/** Whether this is a pool or a connection of the package `mysql2`; told by its shape, so that nothing is loaded for the question. */
export function isMysqlHandle(value: unknown): boolean {
  return isAnyPool(value) || isAnyConnection(value);
}

/** A pool of the caller's in the shape of promises; null: it is none. */
export function asPool(value: unknown): MysqlPool | null {
  return isAnyPool(value) ? (inPromises(value) as MysqlPool) : null;
}

/** A connection of the caller's in the shape of promises; null: it is none. */
export function asConnection(value: unknown): MysqlConnection | null {
  return isAnyConnection(value) ? (inPromises(value) as MysqlConnection) : null;
}

function inPromises(value: unknown): unknown {
  return isCore(value) ? (value as { promise(): unknown }).promise() : value;
}
