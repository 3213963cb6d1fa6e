import type { Redaction } from "../../../run/redaction.ts";
import type { JsonText, ProgressView } from "../contract.ts";

/** Characters of a payload in the detail of a run; `GET /runs/:id/payload` has the whole. */
const MOST_CHARACTERS = 64 * 1024;

/** Characters of the arguments in a list. */
const PREVIEW = 200;

export function toJsonText(
  json: string | null,
  redaction: Redaction,
  limit: number = MOST_CHARACTERS,
): JsonText {
  if (json === null) return { json: null, size: 0, truncated: false };
  return { ...redaction.json(json, limit), size: Buffer.byteLength(json) };
}

export function toPreview(json: string | null, redaction: Redaction): string {
  return json === null ? "" : redaction.preview(json, PREVIEW);
}

/** Reads a stored progress: a number, `{ done, of }`, or any other value as text. */
export function toProgress(json: string | null, redaction: Redaction): ProgressView | null {
  if (json === null) return null;
  const value = json.length < 1000 ? parse(json) : undefined;
  if (typeof value === "number") return { done: value, of: null, text: null };
  if (typeof value === "object" && value !== null) {
    const { done, of } = value as { done?: unknown; of?: unknown };
    if (typeof done === "number") return { done, of: typeof of === "number" ? of : null, text: null };
  }
  const text = redaction.preview(json, PREVIEW);
  return { done: null, of: null, text: typeof value === "string" ? redaction.text(value) : text };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
