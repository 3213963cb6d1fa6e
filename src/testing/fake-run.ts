import type { RunContext } from "../run/context.ts";
import type { JsonValue } from "../run/payload.ts";

/** A run for a handler that is called by itself; it keeps what the handler did with it. */
export interface FakeRun extends RunContext {
  readonly logged: readonly { message: string; data: unknown }[];
  readonly progressed: readonly JsonValue[];
  /** How the handler ended its try; null: it did not. */
  readonly ending:
    | { kind: "snoozed"; delay: number | string }
    | { kind: "discarded"; reason: string | null }
    | null;
}

/**
 * Makes the second argument of a handler, for a test that calls the handler itself. `given` replaces what the test is
 * about; `snooze()` and `discard()` throw, as they do in a worker; `transaction()` has to be given.
 */
export function fakeRun(given: Partial<RunContext> = {}): FakeRun {
  const logged: { message: string; data: unknown }[] = [];
  const progressed: JsonValue[] = [];
  let ending: FakeRun["ending"] = null;
  const end = (how: NonNullable<FakeRun["ending"]>): never => {
    ending = how;
    throw new Error(`The handler ended its try: ${how.kind}.`);
  };
  const attempt = given.attempt ?? 1;
  const maxAttempts = given.maxAttempts ?? 1;
  return {
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
    signal: new AbortController().signal,
    progress: (value) => void progressed.push(value),
    log: (message, data) => void logged.push({ message, data }),
    snooze: (delay) => end({ kind: "snoozed", delay }),
    discard: (reason) => end({ kind: "discarded", reason: reason ?? null }),
    transaction: () => Promise.reject(new Error("fakeRun() has no database: give it a transaction().")),
    ...given,
    logged,
    progressed,
    get ending() {
      return ending;
    },
  };
}
