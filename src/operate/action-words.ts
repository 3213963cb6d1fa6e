import type { JsonValue } from "../run/payload.ts";

/** Words of counts; other keys stand before their value. */
const COUNTS: Record<string, string> = {
  total: "runs matched",
  done: "done",
  requested: "asked to stop",
  retried: "retried",
  cancelled: "cancelled",
  deleted: "deleted",
};

/**
 * Returns the details of an action of the audit trail in words, such as `finished, 20 done, 2 skipped (1 running, 1
 * gone)`; an empty text if there are none. Ids of operations, and values that say nothing, are left out.
 */
export function detailsInWords(details: JsonValue | undefined): string {
  if (details === undefined || details === null) return "";
  if (!isObject(details)) return textOf(details);
  const isOperation = "operation" in details;
  return Object.entries(details)
    .filter(([key]) => key !== "operation")
    .map(([key, value]) => (isOperation && key === "state" ? textOf(value) : factOf(key, value)))
    .filter((part) => part !== "")
    .join(", ");
}

function factOf(key: string, value: JsonValue): string {
  if (value === null || value === false || value === "") return "";
  if (value === true) return key;
  if (key === "skipped" && isObject(value)) return skippedText(Object.entries(value));
  if (typeof value === "number" && Object.hasOwn(COUNTS, key)) return `${value} ${COUNTS[key]}`;
  if (isObject(value) && Object.keys(value).length === 0) return "";
  return `${key} ${textOf(value)}`;
}

function skippedText(reasons: [string, JsonValue][]): string {
  const total = reasons.reduce((sum, [, count]) => sum + Number(count), 0);
  if (total === 0) return "";
  const why = reasons.map(([reason, count]) => (reasons.length === 1 ? reason : `${count} ${reason}`));
  return `${total} skipped (${why.join(", ")})`;
}

function textOf(value: JsonValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
