import { PunctualError, show } from "../errors.ts";
import type { Punctual } from "../punctual.ts";
import type { Failure } from "../run/failure.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";

/** How `drain()` runs. */
export interface DrainOptions {
  /** Rejects once more runs than this have run. Default: 10,000. */
  atMost?: number;
  /** `throw` (the default) rejects if the last try of a run failed; `ignore` resolves all the same. */
  failures?: "throw" | "ignore";
}

interface Failed {
  name: string;
  attempt: number;
  error: Failure;
  isFinal: boolean;
}

/** More would hide the first ones. */
const MOST_LISTED = 10;

/**
 * Runs everything that is due, and whatever that makes due at once, until nothing is left; gives how many runs that were.
 * Rejects with `RUN_FAILED` if a run has failed, or waits for its next try after one that failed.
 */
export async function drain(jobs: Punctual, options: DrainOptions = {}): Promise<number> {
  checkKeys(options, ["atMost", "failures"], "drain()");
  const most = checkInteger(options.atMost ?? 10_000, "drain() atMost", 1);
  const { failures: wanted = "throw" } = options;
  if (wanted !== "throw" && wanted !== "ignore") {
    throw new PunctualError(
      "INVALID_OPTION",
      `drain() failures: expected "throw" or "ignore", got ${show(wanted)}.`,
    );
  }
  const failures = new Failures(jobs);
  try {
    const total = await runAll(jobs, most);
    if (wanted === "throw") failures.throwIfAny(total);
    return total;
  } finally {
    failures.stop();
  }
}

async function runAll(jobs: Punctual, most: number): Promise<number> {
  let total = 0;
  for (;;) {
    // One more than allowed: that it runs shows that more was due.
    const ran = await jobs.run({ batch: Math.min(1000, most + 1 - total) });
    total += ran;
    if (ran === 0) return total;
    if (total > most) {
      throw new Error(
        `drain() has run more than ${most} runs: does something dispatch itself? Raise atMost if it is meant.`,
      );
    }
  }
}

/** Runs whose last try failed. */
class Failures {
  readonly #failed = new Map<number, Failed>();
  readonly #offs: (() => void)[];

  constructor(jobs: Punctual) {
    const fail =
      (isFinal: boolean) =>
      ({ id, ...event }: Omit<Failed, "isFinal"> & { id: number }) =>
        this.#failed.set(id, { ...event, isFinal });
    this.#offs = [
      jobs.on("run.failed", fail(true)),
      jobs.on("run.retried", fail(false)),
      ...(["run.completed", "run.skipped", "run.cancelled"] as const).map((end) =>
        jobs.on(end, ({ id }: { id: number }) => this.#failed.delete(id)),
      ),
    ];
  }

  throwIfAny(total: number): void {
    const all = [...this.#failed];
    if (all.length === 0) return;
    const lines = all.slice(0, MOST_LISTED).map(([id, failed]) => `  ${inWords(id, failed)}`);
    const more = all.length > MOST_LISTED ? [`  and ${all.length - MOST_LISTED} more`] : [];
    const [, { error }] = all[0]!;
    throw new PunctualError(
      "RUN_FAILED",
      [
        `drain() ran ${total} ${total === 1 ? "run" : "runs"}, and ${all.length} failed:`,
        ...lines,
        ...more,
        'If the test expects this: drain(jobs, { failures: "ignore" })',
      ].join("\n"),
      { cause: error },
    );
  }

  stop(): void {
    for (const off of this.#offs) off();
  }
}

function inWords(id: number, { name, attempt, error, isFinal }: Failed): string {
  return `"${name}", run ${id}, attempt ${attempt}${isFinal ? "" : ", to be retried"}: ${error.name}: ${error.message}`;
}
