import { describe, expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { Emitter } from "../../src/events/events.ts";
import { toLogger } from "../../src/events/logger.ts";
import { QueueOrders } from "../../src/job/queue-orders.ts";
import { PendingCalls } from "../../src/store/pending-calls.ts";
import type { BusyWorker } from "../../src/store/records.ts";
import { type Store, WORKER_SILENT_AFTER } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import type { Clock } from "../../src/time.ts";
import { Janitor, type JanitorParts } from "../../src/worker/janitor.ts";
import { processMark } from "../../src/worker/process-mark.ts";

/** A janitor that records its actions, in order. `duty` stands for its writes of counts and its syncs of jobs. */
function scene(duty = async () => {}) {
  const clock = new TestClock();
  let frozen = 0;
  const own: Clock = {
    manual: true,
    now: () => clock.now() + frozen,
    monotonic: () => clock.monotonic() + frozen,
    after: (ms, callback) => clock.after(ms, callback),
  };
  const done: string[] = [];
  const busy: BusyWorker[] = [];
  let beats = true;
  const store: Partial<Store> = {
    reap: async () => {
      done.push("reap");
      return [];
    },
    reapOwnerless: async (self) => {
      done.push(`reap those without an owner, but not of ${self}`);
      return [];
    },
    busyWorkersOf: async () => busy,
    reapGone: async (workers) => {
      done.push(`reap those of ${workers}`);
      return [];
    },
    prune: async () => ({}) as never,
    batches: { sweep: async () => {} } as never,
  };
  const janitor = new Janitor({
    id: "me",
    hostname: "here",
    store: store as Store,
    clock: own,
    random: Math.random,
    events: new Emitter(toLogger(false), own),
    executor: {} as JanitorParts["executor"],
    queueOrders: new QueueOrders(
      () => {},
      () => 0,
    ),
    registry: { definitions: () => [] } as unknown as JanitorParts["registry"],
    counts: { flushOften: duty } as unknown as JanitorParts["counts"],
    logbook: { flush: async () => {} } as unknown as JanitorParts["logbook"],
    pending: new PendingCalls(),
    beat: async () => {
      if (!beats) await new Promise(() => {});
      done.push("beat");
    },
    sync: duty,
    checkLeases: () => done.push("check leases"),
    wake: () => done.push("wake"),
  });
  const firstOf = (what: string) => done.findIndex((one) => one.startsWith(what));
  return {
    clock,
    janitor,
    done,
    busy,
    firstOf,
    freeze: (ms: number) => {
      frozen += ms;
    },
    hang: () => {
      beats = false;
    },
  };
}

describe("a janitor", () => {
  test("aborts executions without a lease before each reap", async () => {
    const { clock, janitor, done } = scene();
    janitor.start();
    await clock.advance(60);
    const reaps = done.flatMap((what, index) => (what === "reap" ? [index] : []));
    expect(reaps.length).toBeGreaterThan(3);
    for (const index of reaps) {
      const before = done.slice(0, index).filter((what) => what !== "beat");
      expect(before.at(-1)).toBe("check leases");
    }
  });

  test.runIf(process.platform === "linux")(
    "reaps the runs of ended processes of its host as soon as they are silent, and no others",
    async () => {
      const { clock, janitor, done, busy } = scene();
      const { pid } = process;
      const mark = processMark()!;
      // Another process with the same id, which has ended.
      const ended = { pid, process: `${mark}0`, silence: WORKER_SILENT_AFTER - 2000 };
      busy.push({ ...ended, id: "ended" }, { ...ended, id: "unmarked", process: null });
      busy.push({ ...ended, id: "alive", process: mark }, { ...ended, id: "me" });
      janitor.start();
      await janitor.reap();
      busy[0]!.silence = WORKER_SILENT_AFTER;
      const first = done.length;
      await clock.advance("1999ms");
      expect(done.slice(first)).not.toContain("reap those of ended");
      await clock.advance("2ms");
      expect(done.slice(first)).toContain("reap those of ended");
      expect(done.filter((what) => /reap those of (?!ended$)/.test(what))).toEqual([]);
    },
  );

  test("does not fail functions of its own process", async () => {
    const { clock, janitor, done } = scene();
    janitor.start();
    await clock.advance(12);
    expect(done).toContain("reap those without an owner, but not of me");
  });

  test("reaps while rows of its counts and jobs are locked: the worker that holds them may be frozen", async () => {
    let fails = 0;
    const { clock, janitor, done } = scene(async () => {
      fails++;
      throw new PunctualError("DATABASE_BUSY", "locked");
    });
    janitor.start();
    await clock.advance(60);
    expect(fails).toBeGreaterThan(10);
    expect(done).toContain("reap");
  });

  test("that was frozen gives up expired leases and beats before it reaps, and gives others time to do so", async () => {
    // Whichever of its timers fires first.
    for (let moment = 0; moment < 12; moment++) {
      const { clock, janitor, done, firstOf, freeze } = scene();
      await janitor.beat();
      janitor.start();
      await clock.advance(moment);
      done.length = 0;
      freeze(64_000);
      await clock.advance("4999ms");
      expect(done).toEqual(expect.arrayContaining(["check leases", "wake", "beat"]));
      expect(done).not.toContain("reap");
      await clock.advance(20);
      expect(firstOf("reap")).toBeGreaterThan(2);
    }
  });

  test("that was suspended does the same", async () => {
    const { clock, janitor, done, firstOf } = scene();
    await janitor.beat();
    janitor.start();
    done.length = 0;
    clock.set(new Date(clock.now() + 3_600_000));
    await clock.advance("5s");
    expect(done).toEqual(expect.arrayContaining(["check leases", "wake", "beat"]));
    expect(done).not.toContain("reap");
    await clock.advance(20);
    expect(firstOf("reap")).toBeGreaterThan(2);
  });

  test("that was frozen does not reap before a heartbeat was answered", async () => {
    const { clock, janitor, done, hang, freeze } = scene();
    await janitor.beat();
    janitor.start();
    await clock.advance(5);
    hang();
    freeze(64_000);
    done.length = 0;
    await clock.advance(60);
    expect(done).not.toContain("reap");
  });
});
