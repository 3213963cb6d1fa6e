/** Values that the query language reads as they are; others stand in quotes. */
const BARE = /^[\w./-]+$/;

/** Returns one part of a query, such as `job:mail.send` or `queue:"two words"`. */
export function term(field: string, value: string | number): string {
  const text = String(value);
  return `${field}:${BARE.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`}`;
}
