import { expect, test } from "vitest";
import type { ClaimedRun } from "../../src/store/store.ts";
import { Buffer } from "../../src/worker/buffer.ts";
import { type RoomParts, roomFor } from "../../src/worker/claim-request.ts";
import { Pace } from "../../src/worker/pace.ts";

/** The room of a worker with ten slots and a very high pace. */
function room(fields: Partial<RoomParts> & { budget?: number; buffered?: number } = {}) {
  const pace = new Pace(2);
  for (let n = 0; n < 100; n++) pace.started(0);
  for (let n = 0; n < 100; n++) pace.done(1);
  const buffer = new Buffer(false);
  buffer.add(
    Array.from({ length: fields.buffered ?? 0 }, (_, id) => ({ id, priority: 1, runAt: 0 }) as ClaimedRun),
    0,
  );
  const parts = {
    executor: { slots: 10, free: 10 },
    options: { batch: null, budget: fields.budget ?? null },
    buffer,
    pace,
    claimed: 0,
    asked: 0,
    crashed: 0,
    ...fields,
  } as unknown as RoomParts;
  return roomFor(parts, 1);
}

test("one claim prefetches 500 runs, two together a thousand", () => {
  expect(room()).toMatchObject({ limit: 510, start: 10, limited: 10 });
  expect(room({ asked: 510 })).toMatchObject({ limit: 500, start: 0 });
  expect(room({ asked: 510, buffered: 400 })).toMatchObject({ limit: 100, start: 0 });
  expect(room({ asked: 510, buffered: 500 })).toMatchObject({ limit: 0, start: 0 });
});

test("limited runs are claimed although another claim may take all slots", () => {
  expect(room({ asked: 510 }).limited).toBe(10);
});

test("the budget counts runs that claims under way may bring", () => {
  expect(room({ budget: 600, asked: 510 }).limit).toBe(90);
});
