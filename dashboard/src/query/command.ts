/** Returns the command line that does to runs what the page does. */
export function commandFor(
  action: "retry" | "cancel" | "delete",
  target: { ids: readonly number[] } | { q: string },
): string {
  if ("ids" in target) return `punctual ${action} ${target.ids.join(" ")}`;
  return `punctual ${action} --where ${quoteForShell(target.q)}`;
}

/** Returns a text as one word of a POSIX shell. */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
