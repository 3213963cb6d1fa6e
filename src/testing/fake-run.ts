import { PunctualError } from "../errors.ts";
import type { RunContext } from "../run/context.ts";
import type { JsonValue } from "../run/payload.ts";
import { toProgress } from "../run/progress.ts";
import { checkKeys, namesOf } from "../validate/options.ts";

/** A run context for a handler that a test calls itself; records the calls of the handler. */
export interface FakeRun extends RunContext {
  readonly logged: readonly { message: string; data: unknown }[];
  readonly progressed: readonly JsonValue[];
  /** How the handler ended its attempt early; null: it did not. */
  readonly ending:
    | { kind: "snoozed"; delay: number | string }
    | { kind: "slowed down"; delay: number | string }
    | { kind: "discarded"; reason: string | null }
    | null;
}

/**
 * Returns the second argument of a handler, for a test that calls the handler itself. `given` replaces any of its
 * members. `snooze()`, `slowDown()` and `discard()` throw, as in a worker; `transaction()` rejects unless `given` has
 * one.
 */
export function fakeRun(given: Partial<RunContext> = {}): FakeRun {
  const logged: { message: string; data: unknown }[] = [];
  const progressed: JsonValue[] = [];
  let ending: FakeRun["ending"] = null;
  const end = (how: NonNullable<FakeRun["ending"]>): never => {
    ending = how;
    throw new Error(`The handler ended its attempt: ${how.kind}.`);
  };
  const attempt = given.attempt ?? 1;
  const maxAttempts = given.maxAttempts ?? 1;
  const run: RunContext = {
    id: 1,
    name: "job",
    queue: "default",
    key: null,
    tags: [],
    attempt,
    maxAttempts,
    isLastAttempt: attempt >= maxAttempts,
    crashes: 0,
    scheduledFor: new Date(0),
    createdAt: new Date(0),
    parentId: null,
    traceparent: null,
    batch: null,
    signal: new AbortController().signal,
    progress: (value: JsonValue, of?: number) => void progressed.push(toProgress(value, of)),
    log: (message, data) => void logged.push({ message, data }),
    snooze: (delay) => end({ kind: "snoozed", delay }),
    slowDown: (delay) => end({ kind: "slowed down", delay }),
    discard: (reason) => end({ kind: "discarded", reason: reason ?? null }),
    transaction: () =>
      Promise.reject(
        new PunctualError(
          "INVALID_OPTION",
          "fakeRun() has no database for run.transaction(). Pass a function: fakeRun({ transaction: async (work) => … }).",
        ),
      ),
  };
  checkKeys(given, namesOf(run), "fakeRun()");
  return {
    ...run,
    ...given,
    logged,
    progressed,
    get ending() {
      return ending;
    },
  };
}
