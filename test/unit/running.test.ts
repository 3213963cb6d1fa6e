import { expect, test } from "vitest";
import type { ClaimedRun } from "../../src/store/store.ts";
import type { Execution } from "../../src/worker/executor.ts";
import { Running } from "../../src/worker/running.ts";

function execution(token: string): Execution & { aborts: number } {
  return {
    run: { id: 7, token } as ClaimedRun,
    result: new Promise(() => {}),
    returned: new Promise(() => {}),
    duration: 0,
    aborts: 0,
    abort() {
      this.aborts++;
    },
  };
}

test("a run that was lost and claimed again stays when its first try ends", () => {
  const running = new Running();
  const lost = execution("a");
  const again = execution("b");
  running.add(lost);
  running.add(again);
  running.remove(lost);
  expect(running.size).toBe(1);
  running.cancel([7]);
  expect(again.aborts).toBe(1);
  running.remove(again);
  expect(running.size).toBe(0);
});
