import { formatValue, isOutage, PunctualError } from "../errors.ts";
import type { Emitter, Events } from "../events/events.ts";
import type { RunInfo } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import { wrongState } from "../run/run.ts";
import { isFinished } from "../run/states.ts";
import { isGivenUp } from "../store/pending-calls.ts";
import { type Clock, type Duration, sleep, toMilliseconds } from "../time.ts";

/** Interval between two reads of a run that another process may execute. */
const READ_EVERY = 50;

/** Shortest time that a read may take, in milliseconds: a wait without patience reads once all the same. */
const LAST_READ = 1000;

export interface WaitParts {
  clock: Clock;
  events: Emitter;
  find(): Promise<RunInfo | null>;
}

/** Returns the result of a run once it has completed. Rejects if the run ends otherwise or the timeout passes first. */
export function waitForRun(
  id: number,
  timeout: Duration | undefined,
  { clock, events, find }: WaitParts,
): Promise<JsonValue | undefined> {
  let wasFound = false;
  return waitUntil<RunInfo, JsonValue | undefined>({
    clock,
    timeout,
    readEvery: READ_EVERY,
    what: `Run ${id}`,
    async read() {
      const run = await find();
      if (!run) throw wasFound ? resultUnknown(id) : wrongState("wait for", id, null);
      wasFound = true;
      return run;
    },
    resultOf: (run) => (isFinished(run.state) ? { result: resultOf(run) } : null),
    listen: (callback) => onEnd(events, id, callback),
    state: ({ state }) => `; it is ${state}. Wait longer, or call why(${id}) for the reason.`,
  });
}

/** A wait for a run or a batch, which is read again and again. */
export interface Wait<Found, Result> {
  clock: Clock;
  timeout: Duration | undefined;
  /** Interval between two reads, in milliseconds. */
  readEvery: number;
  /** Name of what is waited for, such as `Run 12`. */
  what: string;
  read(): Promise<Found>;
  /** Null: it has not ended. */
  resultOf(found: Found): { result: Result } | null;
  /** Calls `callback` when this process has ended it. Returns a function that stops listening. */
  listen(callback: () => void): () => void;
  /** The state for the message of a timeout; follows "has not finished within 10 s". */
  state(found: Found): string;
}

/**
 * Reads until there is a result. Rejects when the timeout passes, also while the database does not answer. Once it has
 * read something, it goes on through an outage of the database: a caller that must end has a timeout, or ends the
 * process.
 */
export async function waitUntil<Found, Result>(wait: Wait<Found, Result>): Promise<Result> {
  const { clock, timeout } = wait;
  const deadline = timeout === undefined ? null : clock.monotonic() + toMilliseconds(timeout, "wait timeout");
  const left = () => (deadline === null ? Number.POSITIVE_INFINITY : deadline - clock.monotonic());
  let last: Found | null = null;
  for (;;) {
    // Listen before reading, so that an end in between also ends the sleep.
    const ended = new AbortController();
    const stopListening = wait.listen(() => ended.abort());
    try {
      const found = await readWithin(wait, Math.max(left(), LAST_READ)).catch((error: unknown) => {
        if (last === null || !isOutage(error) || isGivenUp(error)) throw error;
        return null;
      });
      const over = found === null ? null : wait.resultOf(found);
      if (over) return over.result;
      last = found ?? last;
      if (left() <= 0) throw timedOut(wait, last);
      await sleep(clock, Math.min(wait.readEvery, left()), ended.signal);
    } finally {
      stopListening();
    }
  }
}

/** Reads; returns null if the database does not answer within `ms` milliseconds. */
async function readWithin<Found>({ clock, read }: Wait<Found, unknown>, ms: number): Promise<Found | null> {
  if (ms === Number.POSITIVE_INFINITY) return read();
  const answered = new AbortController();
  const reading = read().finally(() => answered.abort());
  return Promise.race([
    reading,
    sleep(clock, ms, answered.signal).then(() => (answered.signal.aborted ? reading : null)),
  ]);
}

function timedOut<Found>({ what, timeout, state }: Wait<Found, unknown>, last: Found | null): PunctualError {
  const time = `${formatValue(timeout)}${typeof timeout === "number" ? " s" : ""}`;
  const found = last === null ? ", and the database has not answered." : state(last);
  return new PunctualError("WAIT_TIMED_OUT", `${what} has not finished within ${time}${found}`);
}

/** Calls `callback` when this process has finished the run. Returns a function that stops listening. */
function onEnd(events: Emitter, id: number, callback: () => void): () => void {
  const ends = ["run.completed", "run.failed", "run.cancelled", "run.skipped"] as const;
  const offs = ends.map((end) =>
    events.on(end, (event: Events[typeof end]) => {
      if (event.id === id) callback();
    }),
  );
  return () => {
    for (const off of offs) off();
  };
}

function resultUnknown(id: number): PunctualError {
  return new PunctualError(
    "RUN_NOT_FOUND",
    `Run ${id} has finished and was not kept, or was deleted, so its result is unknown. To keep results, set keep() on the job.`,
  );
}

function resultOf(run: RunInfo): JsonValue | undefined {
  if (run.state === "completed") return run.result;
  const why = run.error ? `: ${run.error.message}` : ".";
  const codes = { failed: "RUN_FAILED", cancelled: "RUN_CANCELLED", skipped: "RUN_SKIPPED" } as const;
  const state = run.state as keyof typeof codes;
  const verb = { failed: "failed", cancelled: "was cancelled", skipped: "was skipped" }[state];
  throw new PunctualError(codes[state], `Run ${run.id} of "${run.name}" ${verb}${why}`, { cause: run.error });
}
