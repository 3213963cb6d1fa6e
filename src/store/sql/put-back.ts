import { stateCodes } from "../../run/states.ts";
import type { SqlContext } from "./context.ts";

/**
 * Effect on the number of an attempt. `counted`: it counts towards the maximum of the retry policy. `unused`: no
 * handler was called, and the next attempt gets it.
 */
type NumberUse = "counted" | "uncounted" | "unused";

/** How a running run goes back to `scheduled` or `ready`. */
interface Requeue {
  id: number;
  delay: number;
  number: NumberUse;
  /** Log lines since the last attempt that counted, if this one does not; null: unchanged. */
  logged: number | null;
  /** The lane with the key that the worker computed; undefined: unchanged. */
  lane?: string | undefined;
  /** Cost of the start of the run, as the worker computed it; undefined: unchanged. */
  cost?: number | undefined;
}

/** Lets runs wait again, without their leases. The caller has locked the rows. */
export async function putBack(tx: SqlContext, runs: Requeue[], now: number): Promise<void> {
  const { db, t } = tx;
  if (runs.length === 0) return;
  const hasCosts = runs.some(({ cost }) => cost !== undefined);
  await tx.run(
    db.updateFrom(
      t.runs,
      {
        state: "v.to_state",
        lane: "coalesce(v.lane, r.lane)",
        run_at: "coalesce(v.due, r.run_at)",
        attempts: "r.attempts - v.unused",
        uncounted: "r.uncounted + v.uncounted",
        lease_token: "null",
        locked_by: "null",
        child: "null",
        locked_until: "null",
        started_at: "null",
        isolated: "0",
        hook: "null",
        logged: "coalesce(v.logged, r.logged)",
        ...(hasCosts && { cost: "coalesce(v.cost, r.cost)" }),
      },
      db.rows({
        id: "integer",
        to_state: "integer",
        due: "integer",
        unused: "integer",
        uncounted: "integer",
        logged: "integer",
        lane: "text",
        ...(hasCosts && { cost: "integer" }),
      }),
    ),
    JSON.stringify(
      runs.map(({ id, delay, number, logged, lane = null, cost = null }) => [
        id,
        delay > 0 ? stateCodes.scheduled : stateCodes.ready,
        delay > 0 ? now + delay : null,
        number === "unused" ? 1 : 0,
        number === "uncounted" ? 1 : 0,
        // Attempts that do not count share one bound: a run may snooze for ever.
        number === "counted" ? 0 : logged,
        lane,
        ...(hasCosts ? [cost] : []),
      ]),
    ),
  );
}
