import type { ServerKind } from "../../servers/server.ts";

/** A packet that is nothing but "commit": behind its head of five bytes and before a zero, or behind its kind, 3. */
function isCommit(kind: ServerKind, sent: Buffer): boolean {
  if (kind === "postgres") return sent[0] === 0x51 && sent.toString("latin1", 5) === "commit\0";
  // MySQL's packet has an empty list of attributes before the text.
  return sent[4] === 3 && ["commit", "\0\u0001commit"].includes(sent.toString("latin1", 5));
}

/** A statement of the transaction that identifies it; the texts of prepared statements are sent once. */
const MARKS: Record<"insert" | "claim" | "completion" | "counts", RegExp> = {
  insert: /insert into punctual_runs/,
  claim: /punctual_runs[\s\S]*attempts \+ 1[\s\S]*lease_token = (?!null)/,
  completion: /insert into punctual_history/,
  counts: /insert into punctual_minutes/,
};

/**
 * The first commit after such a statement, counted over all connections: little else is sent meanwhile, and whatever
 * is hit, the promises hold.
 */
export function commitOf(kind: ServerKind, what: keyof typeof MARKS): (sent: Buffer) => boolean {
  let seen = false;
  return (sent) => {
    seen ||= MARKS[what].test(sent.toString("latin1"));
    return seen && isCommit(kind, sent);
  };
}

/** The insert of runs without unique keys, which is a transaction by itself. */
export const isInsert = (sent: Buffer): boolean => MARKS.insert.test(sent.toString("latin1"));
