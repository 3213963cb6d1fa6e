import { expect, test } from "vitest";
import type { ClaimedRun } from "../../src/store/store.ts";
import { Executions } from "../../src/worker/executions.ts";
import type { Execution } from "../../src/worker/executor.ts";

function execution(token: string): Execution & { aborts: string[] } {
  const aborts: string[] = [];
  return {
    run: { id: 7, token } as ClaimedRun,
    result: new Promise(() => {}),
    returned: new Promise(() => {}),
    duration: 0,
    aborts,
    abort: ({ code }) => aborts.push(code),
  };
}

test("a run that was lost and claimed again stays when its first try ends", () => {
  const running = new Executions();
  const lost = execution("a");
  const again = execution("b");
  running.add(lost);
  running.add(again);
  running.remove(lost);
  expect(running.size).toBe(1);
  running.cancel([7]);
  expect(again.aborts).toEqual(["RUN_CANCELLED"]);
  running.remove(again);
  expect(running.size).toBe(0);
});

test("a run that was claimed again: its first try can still be aborted, and the second is left alone", () => {
  const running = new Executions();
  const first = execution("a");
  const second = execution("b");
  running.add(first);
  running.add(second);
  expect(running.size).toBe(2);
  expect(running.lose(first.run)).toBe(true);
  expect([first.aborts, second.aborts]).toEqual([["LEASE_LOST"], []]);
  running.remove(first);
  expect(running.lose(first.run)).toBe(false);
});
