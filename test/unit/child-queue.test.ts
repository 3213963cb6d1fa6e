import { expect, test } from "vitest";
import type { ClaimedRun } from "../../src/store/store.ts";
import { ChildQueue } from "../../src/supervisor/child-queue.ts";
import { TestClock } from "../../src/testing/index.ts";
import { HELD_AT_MOST } from "../../src/worker/pace.ts";

const assigned = (...tickets: number[]) =>
  tickets.map((ticket) => ({ ticket, run: { id: ticket } as ClaimedRun }));

function scene() {
  const clock = new TestClock();
  const late: number[] = [];
  const queue: ChildQueue = new ChildQueue(clock, (ticket) => {
    late.push(ticket);
    queue.remove(ticket);
  });
  const take = (count: number) => queue.take(count).map(({ ticket }) => ticket);
  return { clock, late, queue, take };
}

test("returns runs in the order of their assignment, as many as there are slots", () => {
  const { queue, take } = scene();
  queue.add(assigned(3, 4, 5));
  queue.add(assigned(8));
  expect(take(2)).toEqual([3, 4]);
  expect(take(0)).toEqual([]);
  expect(take(5)).toEqual([5, 8]);
});

test("does not return a run that was removed", () => {
  const { queue, take } = scene();
  queue.add(assigned(1, 2, 3));
  expect(queue.remove(2)).toBe(true);
  expect(queue.remove(2)).toBe(false);
  expect(take(3)).toEqual([1, 3]);
  expect(queue.remove(1)).toBe(false);
});

test("reports the runs that have waited too long for a slot, and only these", async () => {
  const { clock, late, queue, take } = scene();
  queue.add(assigned(1, 2));
  expect(take(1)).toEqual([1]);
  await clock.advance(HELD_AT_MOST / 2000);
  queue.add(assigned(3));
  expect(take(0)).toEqual([]);
  expect(late).toEqual([]);
  await clock.advance(HELD_AT_MOST / 2000);
  expect(late).toEqual([2]);
  await clock.advance(HELD_AT_MOST / 1000);
  expect(late).toEqual([2, 3]);
});
