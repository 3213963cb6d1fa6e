import { isOutage, isPunctualError } from "../../../errors.ts";
import { toFailure } from "../../../run/failure.ts";
import { type Clock, SECOND } from "../../../time.ts";
import { HttpProblem } from "../../server/problem.ts";
import type { LiveEvents, Overview } from "../contract.ts";
import { iso } from "../views/times.ts";

const SAMPLE_EVERY: number = 2 * SECOND;

/** Sends the latest event of a kind to all clients. */
export type Publish = <Event extends "overview" | "database">(event: Event, data: LiveEvents[Event]) => void;

export interface SamplerParts {
  clock: Clock;
  read(): Promise<Overview>;
  publish: Publish;
  /** Hides secrets in the text of an error. */
  hide(text: string): string;
}

/** Reads the overview every two seconds while clients are connected, and publishes it when it has changed. */
export class Sampler {
  readonly #parts: SamplerParts;
  /** Aborted by `stop()`, so that a read under way publishes nothing and starts no timer. */
  #session = new AbortController();
  /** The last overview without its time. */
  #last: string | null = null;
  #isAvailable = true;

  constructor(parts: SamplerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#session = new AbortController();
    void this.#sample(this.#session.signal);
  }

  stop(): void {
    this.#session.abort();
    // The next start publishes in any case: changes in between were not seen.
    this.#last = null;
  }

  async #sample(signal: AbortSignal): Promise<void> {
    try {
      const overview = await this.#parts.read();
      if (signal.aborted) return;
      this.#reached();
      const content = JSON.stringify({ ...overview, now: "" });
      if (content !== this.#last) this.#parts.publish("overview", overview);
      this.#last = content;
    } catch (error) {
      if (signal.aborted) return;
      if (isAway(error)) this.#missed(error);
    }
    const { clock } = this.#parts;
    const cancel = clock.after(SAMPLE_EVERY, () => void this.#sample(signal), { background: true });
    signal.addEventListener("abort", cancel, { once: true });
  }

  #reached(): void {
    if (this.#isAvailable) return;
    this.#isAvailable = true;
    this.#report(null, null);
  }

  #missed(error: unknown): void {
    if (!this.#isAvailable) return;
    this.#isAvailable = false;
    const { code = null } = error as { code?: string };
    this.#report(code, this.#parts.hide(toFailure(error).message));
  }

  #report(code: string | null, detail: string | null): void {
    const since = iso(this.#parts.clock.now());
    this.#parts.publish("database", { available: this.#isAvailable, since, code, detail });
  }
}

const AWAY: string[] = ["QUERY_TIMED_OUT", "NOT_INSTALLED", "SCHEMA_TOO_NEW", "CLOSED"];

/** Whether the database cannot be used at all. An overview that takes too long counts as well. */
function isAway(error: unknown): boolean {
  if (isOutage(error)) return true;
  return (error instanceof HttpProblem || isPunctualError(error)) && AWAY.includes(error.code);
}
