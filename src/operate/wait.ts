import { formatValue, PunctualError } from "../errors.ts";
import type { Emitter, Events } from "../events/events.ts";
import type { RunInfo } from "../run/info.ts";
import type { JsonValue } from "../run/payload.ts";
import { wrongState } from "../run/run.ts";
import { isFinished } from "../run/states.ts";
import { type Clock, type Duration, sleep, toMilliseconds } from "../time.ts";

/** Interval between two reads of a run that another process may execute. */
const READ_EVERY = 50;

export interface WaitParts {
  clock: Clock;
  events: Emitter;
  find(): Promise<RunInfo | null>;
}

/** Returns the result of a run once it has completed. Rejects if the run ends otherwise or the timeout passes first. */
export async function waitForRun(
  id: number,
  timeout: Duration | undefined,
  { clock, events, find }: WaitParts,
): Promise<JsonValue | undefined> {
  const deadline = timeout === undefined ? null : clock.monotonic() + toMilliseconds(timeout, "wait timeout");
  for (let wasFound = false; ; wasFound = true) {
    // Listen before reading, so that a run that ends in between also ends the sleep.
    const ended = new AbortController();
    const stopListening = onEnd(events, id, () => ended.abort());
    try {
      const run = await find();
      if (!run) throw wasFound ? resultUnknown(id) : wrongState("wait for", id, null);
      if (isFinished(run.state)) return resultOf(run);
      const left = deadline === null ? READ_EVERY : deadline - clock.monotonic();
      if (left <= 0) {
        throw new PunctualError(
          "WAIT_TIMED_OUT",
          `Run ${id} has not finished within ${formatValue(timeout)}${typeof timeout === "number" ? " s" : ""}; it is ${run.state}. Wait longer, or call why(${id}) for the reason.`,
        );
      }
      await sleep(clock, Math.min(READ_EVERY, left), ended.signal);
    } finally {
      stopListening();
    }
  }
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
