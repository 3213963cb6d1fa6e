/**
 * Returns `keys` in the order in which the reader saw them first: those of `before` stay where they are, new ones
 * follow in the order of `keys`.
 */
export function steadyOrder<Key>(before: readonly Key[], keys: readonly Key[]): Key[] {
  const present = new Set(keys);
  const known = before.filter((key) => present.has(key));
  const seen = new Set(known);
  return [...known, ...keys.filter((key) => !seen.has(key))];
}
