/** Begins the log line of a run whose result was not kept. */
const BEGINNING = "The result was not kept: ";

/** Returns the line that the log of a completed run gets if its result cannot be kept. */
export function lostResultLine(reason: string): string {
  return `${BEGINNING}${reason}`;
}

/** Returns why the result of a run was not kept, according to its log; null: the log does not say so. */
export function lostResultReason(lines: readonly { message: string }[]): string | null {
  const line = lines.findLast(({ message }) => message.startsWith(BEGINNING));
  return line ? line.message.slice(BEGINNING.length) : null;
}
