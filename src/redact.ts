/** Names of secret values. */
const SECRET =
  /pass(word|wd|phrase|code)?$|^pass|secret|token|api[-_]?key|auth(orization)?$|cookie|credential|private[-_]?key|session[-_]?id|cvv|card[-_]?number|iban/i;

export const HIDDEN = "[hidden]";

/** `scheme://user:password@`: a password may hold further @ signs. */
const PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:@/?#"']*):[^\s/?#"']+@/gi;
/** In a web URL a user without a password is a token. */
const TOKEN = /\b(https?:\/\/)[^\s:@/?#"']+@/gi;
const PARAMETER = /([?&;]([^\s=&;#?]+)=)[^\s&;#"']+/g;

// The type of this function is not part of the library that the project compiles with.
const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean };

/**
 * Returns a payload for display: hides values whose names match SECRET or `others`, and passwords and secret parameters
 * of URLs inside texts.
 */
export function redact(value: unknown, others: readonly (string | RegExp)[] = []): unknown {
  if (typeof value === "string") return withoutPasswords(value);
  if (Array.isArray(value)) return value.map((one) => redact(one, others));
  if (typeof value !== "object" || value === null || isRawJSON(value)) return value;
  const isSecret = (key: string) =>
    SECRET.test(key) || others.some((other) => (typeof other === "string" ? other === key : other.test(key)));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecret(key) && inner !== null ? HIDDEN : redact(inner, others),
    ]),
  );
}

function withoutPasswords(text: string): string {
  return text
    .replace(PASSWORD, `$1:${HIDDEN}@`)
    .replace(TOKEN, `$1${HIDDEN}@`)
    .replace(PARAMETER, (whole, start: string, name: string) => (SECRET.test(name) ? start + HIDDEN : whole));
}
