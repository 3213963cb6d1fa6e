import { PunctualError } from "../../errors.ts";
import { systemClock } from "../../time.ts";
import type { ServerDatabase, Tables } from "../sql/database.ts";
import { GATES } from "./limits.ts";

/** Longest the second connection may take for one statement on a single row. */
const ANSWER_WITHIN = 5000;

/** Negative: no insert ever reserves such an id for its receipt. */
const newId = () => -1 - Math.floor(Math.random() * 2 ** 52);

/**
 * Checks with two connections that the engine does what claims rely on, and returns what it does not, in words. Some
 * engines that speak the protocol of PostgreSQL or MySQL accept `for update skip locked` and `read committed` and do
 * neither. Null: it does, or there is no second connection to ask with. Costs nine short statements and leaves nothing
 * behind: one row of `receipts` is inserted and deleted.
 */
export function probeEngine(
  db: ServerDatabase,
  t: Tables,
  { connections, now }: { connections: number; now: number },
): Promise<string | null> {
  if (connections < 2) return Promise.resolve(null);
  // Any of them: probes of processes that start together then hardly ever wait for each other.
  const gate = Math.floor(Math.random() * GATES);
  return db.transaction(async (tx) => {
    await tx.all(`select id from ${t.gates} where id = ?${db.forUpdate}`, gate);
    if (!(await answered(db.all("select 1 as one")))) return null;
    const skipped = await answered(db.all(`select id from ${t.gates} where id = ?${db.skipLocked}`, gate));
    if (!skipped)
      return "a select … for update skip locked waits for a row that another transaction has locked";
    if (skipped.length > 0)
      return "a select … for update skip locked returns a row that another transaction has locked";
    const id = newId();
    const look = () => tx.all(`select id from ${t.receipts} where id = ?`, id);
    await look();
    try {
      await db.run(`insert into ${t.receipts} (id, created_at) values (?, ?)`, id, now);
      const seen = await look();
      return seen.length > 0
        ? null
        : "a transaction at read committed does not see what others commit meanwhile";
    } finally {
      await db.run(`delete from ${t.receipts} where id = ?`, id);
    }
  });
}

/** Null: no answer in time, as where every other connection is taken. */
async function answered<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  const late = Promise.withResolvers<null>();
  const cancel = systemClock.after(ANSWER_WITHIN, () => late.resolve(null));
  // A late fault has nobody to go to.
  answer.catch(() => {});
  return Promise.race([answer, late.promise]).finally(cancel);
}

export function engineUnsafe(version: string, reason: string): PunctualError {
  return new PunctualError(
    "ENGINE_UNSAFE",
    `This database (${version}) is not safe for Punctual, because ${reason}: runs could execute twice or starve. Use PostgreSQL, MySQL, MariaDB or SQLite, or set this engine to pessimistic locking and true read committed.`,
  );
}
