import { formatValue, PunctualError } from "../errors.ts";

/** Longest name in bytes. MySQL and MariaDB can index columns of this length even with four bytes per character. */
const LONGEST = 191;

/**
 * Throws INVALID_NAME unless the name has 1 to 191 bytes of UTF-8, without NUL or lone surrogates. `what`: "a job
 * name", "a queue name", …
 */
export function checkName(name: unknown, what: string): string {
  if (typeof name !== "string") throw refusal(what, `as text, got ${formatValue(name)}`);
  if (name === "") throw refusal(what, "of at least one character, got an empty text");
  const bytes = Buffer.byteLength(name);
  if (bytes > LONGEST)
    throw refusal(what, `of at most ${LONGEST} bytes, got ${bytes} bytes: ${formatValue(name)}`);
  if (name.includes("\0")) throw refusal(what, `without NUL characters, got ${formatValue(name)}`);
  if (!name.isWellFormed())
    throw refusal(what, `of well-formed Unicode, got half a character in ${formatValue(name)}`);
  return name;
}

/** Queue of jobs that name none. */
export const DEFAULT_QUEUE = "default";

/** Returns the checked name of a queue; null means the default queue. */
export function checkQueue(name: unknown): string {
  return name === null ? DEFAULT_QUEUE : checkName(name, "a queue name");
}

function refusal(what: string, rest: string): PunctualError {
  return new PunctualError("INVALID_NAME", `Expected ${what} ${rest}.`);
}

/** Most edits between two names that count as close, however long the names are. */
const MOST_EDITS = 4;

/**
 * Added to the score of names that share only a prefix, so that they rank behind all names within the edit distance.
 */
const BY_PREFIX = 1000;

/**
 * Returns at most three names close to the given one (by edit distance or common prefix, case-insensitive), the closest
 * first.
 */
export function closeNames(name: string, known: Iterable<string>): string[] {
  const wanted = name.slice(0, LONGEST).toLowerCase();
  const limit = Math.min(MOST_EDITS, Math.floor(wanted.length / 3));
  const found: { candidate: string; score: number }[] = [];
  for (const candidate of new Set(known)) {
    if (candidate === name) continue;
    const score = closeness(wanted, candidate.toLowerCase(), limit);
    if (score !== undefined) found.push({ candidate, score });
  }
  found.sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1));
  return found.slice(0, 3).map(({ candidate }) => candidate);
}

/** Returns a score, lower for closer names; undefined if they are not close. */
function closeness(wanted: string, candidate: string, limit: number): number | undefined {
  const shorter = Math.min(wanted.length, candidate.length);
  const longer = Math.max(wanted.length, candidate.length);
  let common = 0;
  while (common < shorter && wanted[common] === candidate[common]) common++;
  if (longer - shorter <= limit) {
    const edits = editDistance(wanted.slice(common), candidate.slice(common), limit);
    if (edits <= limit) return edits;
  }
  // One name is a prefix of the other ("emails" and "emails.send"), or they share at least half of the longer one.
  const near = common >= 3 && (common === shorter || common * 2 >= longer);
  return near ? BY_PREFIX + longer - common : undefined;
}

/**
 * Returns the number of insertions, deletions, replacements and swaps of neighbours; `limit + 1` if it is above
 * `limit`.
 */
function editDistance(a: string, b: string, limit: number): number {
  const over = limit + 1;
  const width = b.length + 2;
  let beforeLast = new Uint16Array(width);
  let last = Uint16Array.from({ length: width }, (_, column) => column);
  let current = new Uint16Array(width);
  for (let row = 1; row <= a.length; row++) {
    // Cells further than `limit` from the diagonal cannot belong to a distance within `limit`.
    const start = Math.max(1, row - limit);
    const end = Math.min(b.length, row + limit);
    current[start - 1] = row;
    let best = row;
    for (let column = start; column <= end; column++) {
      const same = a[row - 1] === b[column - 1];
      let edits = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        edits = Math.min(edits, beforeLast[column - 2]! + 1);
      }
      current[column] = edits;
      best = Math.min(best, edits);
    }
    current[end + 1] = over;
    if (best > limit) return over;
    [beforeLast, last, current] = [last, current, beforeLast];
  }
  return Math.min(last[b.length]!, over);
}
