/** Names of what is nobody's business. */
const SECRET =
  /pass(word|wd|phrase|code)?$|^pass|secret|token|api[-_]?key|auth(orization)?$|cookie|credential|private[-_]?key|session[-_]?id|cvv|card[-_]?number|iban/i;

export const HIDDEN = "[hidden]";

/** A payload as it may be shown: what stands under a name that speaks of a secret is hidden. */
export function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET.test(key) && inner !== null ? HIDDEN : redact(inner),
    ]),
  );
}
