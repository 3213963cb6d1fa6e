import { expect, test } from "vitest";
import type { ClaimedRun } from "../../src/store/store.ts";
import { systemClock } from "../../src/time.ts";
import { Executions } from "../../src/worker/executions.ts";
import type { Execution, RunnableJob } from "../../src/worker/executor.ts";

function execution(token: string): Execution & { aborts: string[] } {
  const aborts: string[] = [];
  return {
    run: { id: 7, token } as ClaimedRun,
    job: {} as RunnableJob,
    isQueued: false,
    duration: 0,
    aborts,
    abort: ({ code }) => aborts.push(code),
  };
}

/** Executions, and `end`, which ends one of them with a lost lease. */
function scene() {
  const logbook = { holds: () => false, flush: async () => {} };
  const pace = { started() {}, done() {} };
  const none = { started() {}, ended() {}, settle() {}, freed() {} };
  const running = new Executions({ clock: systemClock, logbook, pace, ...none });
  return { running, end: (one: Execution) => running.ended(one, { outcome: null }) };
}

test("a run that was lost and claimed again stays when its first attempt ends", () => {
  const { running, end } = scene();
  const lost = execution("a");
  const again = execution("b");
  running.began(lost);
  running.began(again);
  end(lost);
  expect(running.size).toBe(1);
  running.cancel([7]);
  expect(again.aborts).toEqual(["RUN_CANCELLED"]);
  end(again);
  expect(running.size).toBe(0);
});

test("the first attempt of a run that was claimed again can be aborted without the second", () => {
  const { running, end } = scene();
  const first = execution("a");
  const second = execution("b");
  running.began(first);
  running.began(second);
  expect(running.size).toBe(2);
  expect(running.lose(first.run)).toBe(true);
  expect([first.aborts, second.aborts]).toEqual([["LEASE_LOST"], []]);
  end(first);
  expect(running.lose(first.run)).toBe(false);
});

test("a run that waits for a slot of its child has not started: its start is not written", () => {
  const { running } = scene();
  const waiting = { ...execution("a"), isQueued: true };
  running.began(waiting);
  expect(running.newStarts(0)).toEqual([]);
  waiting.isQueued = false;
  expect(running.newStarts(0)).toEqual([waiting.run]);
});
