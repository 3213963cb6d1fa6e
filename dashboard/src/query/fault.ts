/** Returns the part of a query that an error message quotes; null if it quotes none. */
export function faultIn(query: string, message: string): { start: number; end: number } | null {
  for (const [, quoted] of message.matchAll(/"((?:[^"\\]|\\.)+)"/g)) {
    const start = query.indexOf(quoted!);
    if (start >= 0) return { start, end: start + quoted!.length };
  }
  return null;
}
