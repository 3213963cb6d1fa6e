/** Names of secret values. */
const SECRET =
  /pass(word|wd|phrase|code)?$|^pass|secret|token|api[-_]?key|auth(orization)?$|cookie|credential|private[-_]?key|session[-_]?id|cvv|card[-_]?number|iban/i;

/**
 * Texts in which `withoutPasswords()` hides something contain the pieces of one of these, in this order and in upper or
 * lower case: a URL with a user, or a parameter with the name of a secret, which also needs a character of
 * BEFORE_PARAMETER. Others may contain them too.
 */
export const URL_WITH_USER: readonly string[] = ["://", "@"];
export const SECRET_PARAMETERS: readonly (readonly string[])[] = [
  ["pass", "="],
  ["secret", "="],
  ["token", "="],
  ["api", "key", "="],
  ["auth", "="],
  ["cookie", "="],
  ["credential", "="],
  ["private", "key", "="],
  ["session", "id", "="],
  ["cvv", "="],
  ["card", "number", "="],
  ["iban", "="],
];
export const BEFORE_PARAMETER: readonly string[] = ["?", "&", ";"];

export const HIDDEN = "[hidden]";

/**
 * `scheme://user:password@`: a password may hold further @ signs. The scheme is bounded, since without a bound a text
 * such as `a.a.a.a` costs the square of its length.
 */
const PASSWORD = /\b([a-z][a-z0-9+.-]{0,40}:\/\/[^\s:@/?#"']*):[^\s/?#"']+@/gi;
/** In a web URL a user without a password is a token. */
const TOKEN = /\b(https?:\/\/)[^\s:@/?#"']+@/gi;
const PARAMETER = /([?&;]([^\s=&;#?]+)=)[^\s&;#"']+/g;

/**
 * Returns a payload for display: hides values whose names match SECRET, and passwords and secret parameters of URLs
 * inside texts.
 */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return withoutPasswords(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecretName(key) && inner !== null ? HIDDEN : redact(inner),
    ]),
  );
}

/** Whether values of this name are hidden. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

/** Returns a text without the passwords and secret parameters of the URLs in it. */
export function withoutPasswords(text: string): string {
  return text
    .replace(PASSWORD, `$1:${HIDDEN}@`)
    .replace(TOKEN, `$1${HIDDEN}@`)
    .replace(PARAMETER, (whole, start: string, name: string) =>
      isSecretName(name) ? start + HIDDEN : whole,
    );
}
