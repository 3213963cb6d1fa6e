import { describe, expect, test } from "vitest";
import type { ClaimedRun } from "../../src/store/store.ts";
import { Buffer } from "../../src/worker/buffer.ts";

let made = 0;

const run = (queue: string, priority: number, claimedAt = 0) =>
  ({ id: ++made, queue, priority, runAt: 0, claimedAt }) as ClaimedRun;

/** All runs that it returns. */
function taken(buffer: Buffer): string {
  const all: string[] = [];
  while (buffer.size > 0) {
    const { queue, priority } = buffer.take()!;
    all.push(`${queue}${priority}`);
  }
  return all.join(" ");
}

describe("prefetched runs", () => {
  test("start in order of priority, whatever the queue", () => {
    const buffer = new Buffer(false);
    buffer.add([run("a", 9), run("b", 1)], 0);
    buffer.add([run("a", 5), run("b", 2)], 1);
    expect(taken(buffer)).toBe("b1 b2 a5 a9");
  });

  test("of queues with weights start in the order of their claims; within each by priority", () => {
    const buffer = new Buffer(true);
    buffer.add([run("a", 9), run("a", 9), run("b", 1)], 0);
    buffer.take();
    buffer.add([run("b", 0), run("a", 5), run("c", -1)], 1);
    expect(taken(buffer)).toBe("a5 b0 b1 a9 c-1");
  });

  test("that have waited too long are taken out, with the time of their claim", () => {
    const buffer = new Buffer(true);
    buffer.add([run("a", 9)], 0);
    buffer.add([run("a", 5)], 10);
    expect(buffer.takeWaiting(5)).toMatchObject([{ priority: 9 }]);
    expect(taken(buffer)).toBe("a5");
  });
});
