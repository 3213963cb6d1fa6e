import { formatValue, PunctualError } from "../errors.ts";
import type { Punctual } from "../punctual.ts";
import type { Failure } from "../run/failure.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";

/** Options of `drain()`. */
export interface DrainOptions {
  /** Rejects after more than this many runs. Default: 10,000. */
  atMost?: number | undefined;
  /** `throw` (default) rejects if the last attempt of a run failed; `ignore` resolves in that case too. */
  failures?: "throw" | "ignore" | undefined;
}

interface FailedRun {
  name: string;
  attempt: number;
  error: Failure;
  isFinal: boolean;
}

/** Most failed runs that the error lists. */
const MOST_LISTED = 10;

/**
 * Executes all due runs, and those that they dispatch, until none is due; returns the number of runs. Rejects with
 * `RUN_FAILED` if a run has failed, or waits for its next attempt after a failed one.
 */
export async function drain(jobs: Punctual, options: DrainOptions = {}): Promise<number> {
  checkKeys(options, { atMost: true, failures: true }, "drain()");
  const most = checkInteger(options.atMost ?? 10_000, "drain() atMost", 1);
  const { failures: wanted = "throw" } = options;
  if (wanted !== "throw" && wanted !== "ignore") {
    throw new PunctualError(
      "INVALID_OPTION",
      `drain() failures: expected "throw" or "ignore", got ${formatValue(wanted)}.`,
    );
  }
  const failures = new FailedRuns(jobs);
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
    // One run more than allowed, to find out whether more were due.
    const ran = await jobs.run({ batch: Math.min(1000, most + 1 - total) });
    total += ran;
    if (ran === 0) return total;
    if (total > most) {
      throw new Error(
        `drain() has executed more than ${most} runs: does a job dispatch itself? If that number is expected, raise atMost.`,
      );
    }
  }
}

/** Collects runs whose last attempt failed. */
class FailedRuns {
  readonly #failed = new Map<number, FailedRun>();
  readonly #offs: (() => void)[];

  constructor(jobs: Punctual) {
    const fail =
      (isFinal: boolean) =>
      ({ id, ...event }: Omit<FailedRun, "isFinal"> & { id: number }) =>
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
    const lines = all.slice(0, MOST_LISTED).map(([id, failed]) => `  ${describe(id, failed)}`);
    const more = all.length > MOST_LISTED ? [`  and ${all.length - MOST_LISTED} more`] : [];
    const [, { error }] = all[0]!;
    throw new PunctualError(
      "RUN_FAILED",
      [
        `drain() ran ${total} ${total === 1 ? "run" : "runs"}, and ${all.length} failed:`,
        ...lines,
        ...more,
        'If the test expects failures, call drain(jobs, { failures: "ignore" })',
      ].join("\n"),
      { cause: error },
    );
  }

  stop(): void {
    for (const off of this.#offs) off();
  }
}

function describe(id: number, { name, attempt, error, isFinal }: FailedRun): string {
  return `"${name}", run ${id}, attempt ${attempt}${isFinal ? "" : ", to be retried"}: ${error.name}: ${error.message}`;
}
