import { PunctualError } from "../../errors.ts";
import { realRandom } from "../../random.ts";
import { systemClock } from "../../time.ts";
import type { ServerDatabase, Tables } from "../sql/database.ts";
import { GATES } from "../sql/gates.ts";

/** Waits between two tries of an install that found the tables in use, in milliseconds. */
export const INSTALL_RETRY: { first: number; longest: number } = { first: 500, longest: 3000 };

export function tablesInUse(cause: unknown): PunctualError {
  return new PunctualError(
    "DATABASE_BUSY",
    "install() could not change the tables: another session has used one of them for 30 s. No transaction of Punctual takes that long. " +
      "Find the longest open transaction (PostgreSQL: pg_stat_activity by xact_start; MySQL and MariaDB: information_schema.innodb_trx by trx_started, and show processlist), end it, and call install() again.",
    { cause },
  );
}

/** Longest the second connection may take for one statement on a single row, in milliseconds. */
const ANSWER_TIMEOUT = 5000;

/** Returns a negative id, which no insert ever reserves for its receipt. */
const newReceiptId = () => -1 - Math.floor(realRandom() * 2 ** 52);

/**
 * Checks with two connections that the database locks and isolates as claims need it. Returns a description of the
 * first fault, or null. Some products that speak the protocol of PostgreSQL or MySQL accept `for update skip locked`
 * and `read committed` and implement neither. Without a second connection the check is skipped. It sends nine short
 * statements, and deletes the one row of `receipts` that it inserts.
 */
export function probeLocks(
  db: ServerDatabase,
  t: Tables,
  { connections, now }: { connections: number; now: number },
): Promise<string | null> {
  if (connections < 2) return Promise.resolve(null);
  // A random gate: probes of processes that start together then rarely wait for each other.
  const gate = Math.floor(realRandom() * GATES);
  return db.transaction(async (tx) => {
    await tx.all(`select id from ${t.gates} where id = ?${db.forUpdate}`, gate);
    if (!(await answerOf(db.all("select 1 as one")))) return null;
    const skipped = await answerOf(db.all(`select id from ${t.gates} where id = ?${db.skipLocked}`, gate));
    if (!skipped)
      return "a select … for update skip locked waits for a row that another transaction has locked";
    if (skipped.length > 0)
      return "a select … for update skip locked returns a row that another transaction has locked";
    const id = newReceiptId();
    const readReceipt = () => tx.all(`select id from ${t.receipts} where id = ?`, id);
    await readReceipt();
    try {
      await db.run(`insert into ${t.receipts} (id, created_at) values (?, ?)`, id, now);
      const seen = await readReceipt();
      return seen.length > 0
        ? null
        : "a transaction at read committed does not see rows that others commit meanwhile";
    } finally {
      await db.run(`delete from ${t.receipts} where id = ?`, id);
    }
  });
}

/** Returns null if the answer does not come in time, for example because every other connection is in use. */
async function answerOf<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  const late = Promise.withResolvers<null>();
  const cancel = systemClock.after(ANSWER_TIMEOUT, () => late.resolve(null));
  // An error that comes after the timeout must not become an unhandled rejection.
  answer.catch(() => {});
  return Promise.race([answer, late.promise]).finally(cancel);
}
