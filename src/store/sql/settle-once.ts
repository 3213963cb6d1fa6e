import type { ExchangeRequest } from "../store.ts";
import type { SqlContext } from "./context.ts";
import { first } from "./database.ts";
import { markStarted, type SettleResult, settleAll } from "./settle.ts";

/**
 * Writes the settlements and start marks of an exchange once. The row of its stream keeps the number of the last
 * exchange: a repeated exchange with that number was committed, and only its answer was lost. `again`: an earlier try
 * may have been committed.
 */
export async function settleOnce(
  tx: SqlContext,
  { worker, stream, seq, settle, started }: ExchangeRequest,
  now: number,
  again: boolean,
): Promise<SettleResult> {
  const { t } = tx;
  let settled: SettleResult = { written: [], freed: [] };
  if (settle.length > 0) {
    if (again) {
      const text = `select seq from ${t.exchanges} where worker = ? and stream = ?`;
      const known = await first(tx.all<{ seq: number }>(text, worker, stream));
      if (known && known.seq >= seq) return { written: settle.map(() => true), freed: [] };
    }
    // Sent together: statements that the caller sends from now on run after both.
    [, settled] = await Promise.all([
      tx.run(`update ${t.exchanges} set seq = ? where worker = ? and stream = ?`, seq, worker, stream),
      settleAll(tx, settle, now),
    ]);
  }
  await markStarted(tx, started, now);
  return settled;
}
