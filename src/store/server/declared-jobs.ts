import { type Clock, yieldToEventLoop } from "../../time.ts";
import type { SqlContext } from "../sql/context.ts";
import { declare, undeclared } from "../sql/jobs.ts";
import type { DeclaredJob, NewRun } from "../store.ts";

/** How long a row that was seen is assumed to exist, in milliseconds. */
const REMEMBERED = 1000;

/**
 * Inserts the rows of jobs whose runs are dispatched before any worker has defined them, or after they were pruned. It
 * looks for a row at most once a second, and while the insert runs, so that an insert has no extra round trip.
 */
export class DeclaredJobs {
  readonly #sql: SqlContext;
  readonly #clock: Clock;
  /** When the row of each job was last seen, on the monotonic clock. */
  readonly #seen = new Map<string, number>();

  constructor(sql: SqlContext, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /**
   * Gives the jobs of these runs rows, if they have none. Returns what to wait for after the insert. Inside a caller's
   * transaction there is nothing to wait for: it may hold the only connection, and must not depend on another one.
   */
  async ensure(runs: NewRun[], now: number, isCallers: boolean): Promise<{ done: Promise<void> } | null> {
    const jobs = this.#unsure(runs);
    if (!jobs) return null;
    const isKnown = isCallers || this.#areKnown(jobs);
    // Sends the insert first, unless a row may be missing.
    const declared = (isKnown ? yieldToEventLoop() : Promise.resolve()).then(() => this.#declare(jobs, now));
    if (!isKnown) await declared;
    // The next insert looks again.
    const done = declared.catch(() => {});
    return isCallers ? null : { done };
  }

  /** Returns the jobs of these runs whose rows must be looked for; null: none. */
  #unsure(runs: NewRun[]): Map<string, DeclaredJob> | null {
    const now = this.#clock.monotonic();
    let unsure: Map<string, DeclaredJob> | null = null;
    for (const { name, owner, job } of runs) {
      if (owner !== null || now - (this.#seen.get(name) ?? Number.NEGATIVE_INFINITY) < REMEMBERED) continue;
      unsure ??= new Map();
      if (!unsure.has(name)) unsure.set(name, job);
    }
    return unsure;
  }

  /** Whether rows of these jobs were ever seen. If not, they are declared before the insert. */
  #areKnown(jobs: ReadonlyMap<string, DeclaredJob>): boolean {
    for (const name of jobs.keys()) if (!this.#seen.has(name)) return false;
    return true;
  }

  async #declare(jobs: ReadonlyMap<string, DeclaredJob>, now: number): Promise<void> {
    const at = this.#clock.monotonic();
    const missing = new Set(await undeclared(this.#sql, [...jobs.keys()]));
    if (missing.size > 0) {
      await declare(this.#sql, new Map([...jobs].filter(([name]) => missing.has(name))), now);
    }
    for (const name of jobs.keys()) this.#seen.set(name, at);
  }

  /** Called when rows may have been deleted. */
  forget(): void {
    this.#seen.clear();
  }
}
