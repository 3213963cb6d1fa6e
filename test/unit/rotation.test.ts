import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LaneWeight, Rotation, type RotationLane } from "../../src/run/rotation.ts";
import { Buffer } from "../../src/worker/buffer.ts";
import { claimedRun } from "./support/worker.ts";

const queue = "imports";

function rotation(weight: LaneWeight | null = null): Rotation {
  return new Rotation(new Map([[queue, weight]]), () => 0);
}

const run = (lane: string, priority = 0): RotationLane => ({ queue, priority, lane, name: "job" });

const lanes = (runs: RotationLane[]) => runs.map(({ lane }) => lane.slice(4)).join("");

describe("rotation", () => {
  test("keeps the positions of other queues", () => {
    const other = { ...run("job|x"), queue: "other" };
    const arranged = rotation().arrange([run("job|a"), other, run("job|a"), run("job|b"), other]);
    expect(arranged.map((one) => `${one.queue} ${one.lane}`)).toEqual([
      "imports job|a",
      "other job|x",
      "imports job|b",
      "imports job|a",
      "other job|x",
    ]);
  });

  test("orders lanes as databases do, by code points", () => {
    const runs = ["job|\u{1F600}", "job|\uFF21", "job|a"].map((lane) => run(lane));
    expect(lanes(rotation().arrange(runs))).toBe("a\uFF21\u{1F600}");
  });

  test("a lane whose weight falls ends its turn", () => {
    let weight = 3;
    const one = rotation(() => weight);
    one.took([run("job|a"), run("job|a")]);
    expect(one.unfinished(queue, 0)).toBe("job|a");
    weight = 1;
    expect(one.unfinished(queue, 0)).toBeNull();
    expect(lanes(one.arrange([run("job|a"), run("job|b")]))).toBe("ba");
  });

  test("the first round has the runs that are left of a turn", () => {
    const one = rotation((key) => (key === "a" ? 3 : 1));
    one.took([run("job|a")]);
    expect(lanes(one.firstRound(["a", "a", "a", "b", "b"].map((key) => run(`job|${key}`))))).toBe("aab");
  });

  test("forgets no queue that is in use", () => {
    const one = new Rotation(new Map([...Array(1100).keys()].map((n) => [`q${n}`, null])), () => 0);
    for (let n = 0; n < 1100; n++) {
      one.took([{ ...run("job|a"), queue: "q0" }]);
      one.took([{ ...run("job|a"), queue: `q${n}` }]);
    }
    expect([one.last("q0", 0), one.last("q1", 0), one.last("q1099", 0)]).toEqual(["job|a", null, "job|a"]);
  });
});

describe("the buffer of a worker", () => {
  test("starts a run that is claimed later before those that another lane has prefetched", () => {
    const buffer = new Buffer(false, new Map([[queue, null]]));
    const claimed = (id: number, lane: string) => claimedRun(id, { queue, lane });
    buffer.add(
      [1, 2, 3, 4].map((id) => claimed(id, "job|a")),
      0,
    );
    expect(buffer.take()!.id).toBe(1);
    buffer.add([claimed(5, "job|b")], 1);
    expect([buffer.take()!.id, buffer.take()!.id, buffer.take()!.id]).toEqual([5, 2, 3]);
    expect(buffer.takeWaiting(0).map(({ id }) => id)).toEqual([4]);
  });
});

/** The order of a plain list of lanes with a pointer, run by run. */
class NaiveRotation {
  readonly #weights: Record<string, number>;
  #at = "";
  #used = 0;

  constructor(weights: Record<string, number>) {
    this.#weights = weights;
  }

  next(waiting: Map<string, number>): string | null {
    const open = [...waiting.keys()].filter((lane) => waiting.get(lane)! > 0).sort();
    if (open.length === 0) return null;
    const stays = open.includes(this.#at) && this.#used < this.#weights[this.#at]!;
    const lane = stays ? this.#at : (open.find((one) => one > this.#at) ?? open[0]!);
    this.#used = stays ? this.#used + 1 : 1;
    this.#at = lane;
    return lane;
  }
}

describe("rotation, as a list of lanes and a pointer would do it", () => {
  const names = ["a", "b", "c", "d"].map((key) => `job|${key}`);
  const scene = fc.record({
    weights: fc.tuple(...names.map(() => fc.integer({ min: 1, max: 4 }))),
    steps: fc.array(
      fc.record({
        adds: fc.tuple(...names.map(() => fc.integer({ min: 0, max: 6 }))),
        takes: fc.integer({ min: 0, max: 12 }),
      }),
      { maxLength: 20 },
    ),
  });

  test("claims of any size take the same runs in the same order", () => {
    fc.assert(
      fc.property(scene, ({ weights, steps }) => {
        const byLane = Object.fromEntries(names.map((lane, index) => [lane, weights[index]!]));
        const one = rotation((key) => byLane[`job|${key}`]!);
        const naive = new NaiveRotation(byLane);
        const waiting = new Map(names.map((lane) => [lane, 0]));
        for (const { adds, takes } of steps) {
          names.forEach((lane, index) => {
            waiting.set(lane, waiting.get(lane)! + adds[index]!);
          });
          const runs = names.flatMap((lane) => Array.from({ length: waiting.get(lane)! }, () => run(lane)));
          const taken = one.arrange(runs).slice(0, takes);
          one.took(taken);
          const expected: string[] = [];
          for (let n = 0; n < Math.min(takes, runs.length); n++) {
            const lane = naive.next(waiting)!;
            waiting.set(lane, waiting.get(lane)! - 1);
            expected.push(lane);
          }
          expect(taken.map(({ lane }) => lane)).toEqual(expected);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("reading more runs of a lane changes nothing about those that were read", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...names), { maxLength: 30 }),
        fc.array(fc.constantFrom(...names), { maxLength: 30 }),
        fc.integer({ min: 1, max: 3 }),
        (some, more, weight) => {
          const one = rotation(() => weight);
          one.took([run("job|b")]);
          const first = some.map((lane) => run(lane));
          const known = new Set(first);
          const all = one.arrange([...first, ...more.map((lane) => run(lane))]);
          expect(all.filter((each) => known.has(each))).toEqual(one.arrange(first));
        },
      ),
    );
  });
});
