import { describe, expect, test } from "vitest";
import type { ClaimedRun, Renewal, RenewalResult } from "../../src/store/store.ts";
import { TestClock } from "../../src/testing/clock.ts";
import { readClock } from "../../src/time.ts";
import { Leases } from "../../src/worker/leases.ts";

interface Sent {
  at: number;
  ids: number[];
  answer(of?: Partial<Pick<RenewalResult, "held" | "locked">>): Promise<void>;
  fail(): Promise<void>;
}

/** Leases over a store whose answers the test gives. */
function scene() {
  const clock = new TestClock();
  const sent: Sent[] = [];
  const lost: { token: string; at: number }[] = [];
  const errors: unknown[] = [];
  let automatic: "held" | "fails" | null = null;
  const renew = (_worker: string, renewals: Renewal[]): Promise<RenewalResult> => {
    const { promise, resolve, reject } = Promise.withResolvers<RenewalResult>();
    const ids = renewals.map(({ id }) => id);
    const none = { held: new Set<number>(), locked: new Set<number>(), cancelled: [] };
    const one: Sent = {
      at: clock.monotonic(),
      ids,
      answer: (of = { held: new Set(ids) }) => {
        resolve({ ...none, ...of });
        return clock.advance(0);
      },
      fail: () => {
        reject(new Error("the database is away"));
        return clock.advance(0);
      },
    };
    sent.push(one);
    if (automatic === "held") void one.answer();
    if (automatic === "fails") void one.fail();
    return promise;
  };
  let blocked = 0;
  const leases = new Leases({
    store: { renew },
    clock: {
      manual: true,
      now: () => clock.now() + blocked,
      monotonic: () => clock.monotonic() + blocked,
      after: (ms, callback) => clock.after(ms, callback),
    },
    random: Math.random,
    events: { failed: (error) => errors.push(error), succeeded: () => {} },
    id: "w1",
    lost: ({ token }) => lost.push({ token, at: clock.monotonic() }),
    cancelled: () => {},
  });
  return {
    clock,
    /** Time passes without a timer. */
    block: (ms: number) => {
      blocked += ms;
    },
    leases,
    sent,
    lost,
    errors,
    hold: (id: number, token: string, lease = 60_000, at = readClock(clock)) => {
      const run = { id, token } as ClaimedRun;
      leases.hold(run, lease, at);
      return run;
    },
    answering: (how: typeof automatic) => {
      automatic = how;
    },
    wallJumps: (ms: number) => clock.set(new Date(clock.now() + ms)),
  };
}

describe("a lease that cannot be renewed", () => {
  test("is given up at its end, even if every renewal has failed at once", async () => {
    const { clock, hold, lost, answering } = scene();
    answering("fails");
    hold(1, "a");
    await clock.advance("53999ms");
    expect(lost).toEqual([]);
    await clock.advance("1ms");
    expect(lost).toEqual([{ token: "a", at: 54_000 }]);
  });

  test("is renewed again within a second after each failure", async () => {
    const { clock, hold, sent, answering } = scene();
    answering("fails");
    hold(1, "a");
    await clock.advance(54);
    expect(sent[0]!.at).toBe(20_000);
    const gaps = sent.slice(1).map(({ at }, index) => at - sent[index]!.at);
    expect(gaps.length).toBeGreaterThan(30);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1000);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(50);
  });

  test("is kept once a renewal succeeds again", async () => {
    const { clock, hold, lost, answering } = scene();
    answering("fails");
    hold(1, "a");
    await clock.advance(53);
    answering("held");
    await clock.advance(300);
    expect(lost).toEqual([]);
  });

  test("is renewed again within a second while the first renewal is unanswered, a few times", async () => {
    const { clock, hold, sent, lost } = scene();
    hold(1, "a");
    await clock.advance(21);
    expect(sent.map(({ at }) => at)).toEqual([20_000, 21_000]);
    await clock.advance(30);
    expect(sent.map(({ at }) => at)).toEqual([20_000, 21_000, 23_000, 27_000]);
    await sent[3]!.answer();
    await clock.advance(3);
    expect(lost).toEqual([]);
  });

  test("is given up in time while all renewals are unanswered", async () => {
    const { clock, hold, lost } = scene();
    hold(1, "a");
    hold(2, "b", 6000);
    await clock.advance(60);
    expect(lost).toEqual([
      { token: "b", at: 4500 },
      { token: "a", at: 54_000 },
    ]);
  });

  test("is not trusted longer if its row is locked; others in the same answer are", async () => {
    const { clock, hold, sent, lost } = scene();
    hold(1, "locked");
    hold(2, "free");
    await clock.advance(20);
    await sent[0]!.answer({ held: new Set([2]), locked: new Set([1]) });
    await clock.advance(1);
    expect(sent[1]!.ids).toEqual([1]);
    await sent[1]!.answer({ held: new Set(), locked: new Set([1]) });
    await clock.advance(33);
    expect(lost).toEqual([{ token: "locked", at: 54_000 }]);
  });
});

describe("trust", () => {
  test("counts from when the renewal was sent, not from its answer", async () => {
    const { clock, hold, sent, lost } = scene();
    hold(1, "a");
    await clock.advance(20);
    await clock.advance("900ms");
    await sent[0]!.answer();
    await clock.advance("53099ms");
    expect(lost).toEqual([]);
    await clock.advance("1ms");
    expect(lost).toEqual([{ token: "a", at: 74_000 }]);
  });

  test("counts from when the claim was sent", async () => {
    const { clock, leases, hold, lost } = scene();
    const claimSent = readClock(clock);
    await clock.advance(50);
    const run = hold(1, "a", 60_000, claimSent);
    expect(leases.trusts(run)).toBe(true);
    await clock.advance(4);
    expect(lost).toEqual([{ token: "a", at: 54_000 }]);
    expect(leases.trusts(run)).toBe(false);
  });

  test("is that of the renewal that was sent last, in any order of the answers", async () => {
    const { clock, hold, sent, lost } = scene();
    hold(1, "a");
    await clock.advance(21);
    await sent[1]!.answer();
    await sent[0]!.answer();
    await clock.advance("53999ms");
    expect(lost).toEqual([]);
    await clock.advance("1ms");
    expect(lost).toEqual([{ token: "a", at: 75_000 }]);
  });
});

test("leases that were claimed one after the other are renewed in few statements", async () => {
  const { clock, hold, sent, lost, answering } = scene();
  answering("held");
  for (let id = 1; id <= 100; id++) {
    hold(id, String(id));
    await clock.advance("100ms");
  }
  await clock.advance(50);
  expect(lost).toEqual([]);
  expect(sent.length).toBeLessThanOrEqual(6);
});

describe("a run that this process claims again", () => {
  test("is lost to its first execution at once, and only the new lease is renewed", async () => {
    const { clock, leases, hold, sent, lost } = scene();
    const first = hold(1, "a");
    const second = hold(1, "b");
    expect(lost).toEqual([{ token: "a", at: 0 }]);
    expect([leases.trusts(first), leases.trusts(second)]).toEqual([false, true]);
    leases.drop(first);
    await clock.advance(20);
    expect(sent[0]!.ids).toEqual([1]);
    await sent[0]!.answer();
    expect(leases.trusts(second)).toBe(true);
  });

  test("an answer about the first lease does not affect the second", async () => {
    const { clock, leases, hold, sent, lost } = scene();
    hold(1, "a");
    await clock.advance(20);
    const second = hold(1, "b");
    await sent[0]!.answer({ held: new Set() });
    expect(lost.map(({ token }) => token)).toEqual(["a"]);
    expect(leases.trusts(second)).toBe(true);
  });
});

describe("a lease that has expired by the wall clock and not by the monotonic clock", () => {
  test("after a suspension of the host starts nothing, is renewed at once, and is lost if the database says so", async () => {
    const { clock, leases, hold, sent, lost, wallJumps } = scene();
    const run = hold(1, "a");
    await clock.advance(1);
    wallJumps(3_600_000);
    expect(leases.trusts(run)).toBe(false);
    leases.check();
    expect(sent.map(({ at }) => at)).toEqual([1000]);
    await sent[0]!.answer({ held: new Set() });
    expect(lost).toEqual([{ token: "a", at: 1000 }]);
  });

  test("after the clock was set is renewed once more, and not lost", async () => {
    const { clock, leases, hold, sent, lost, wallJumps } = scene();
    const run = hold(1, "a");
    await clock.advance(1);
    wallJumps(3_600_000);
    leases.check();
    await sent[0]!.answer();
    expect(leases.trusts(run)).toBe(true);
    leases.check();
    await clock.advance(19);
    expect(sent).toHaveLength(1);
    expect(lost).toEqual([]);
  });

  test("is given up a few seconds later if the database does not answer", async () => {
    const { clock, leases, hold, lost, wallJumps } = scene();
    hold(1, "a");
    await clock.advance(1);
    wallJumps(3_600_000);
    leases.check();
    await clock.advance(4);
    expect(lost).toEqual([]);
    await clock.advance(1);
    expect(lost).toEqual([{ token: "a", at: 6000 }]);
  });

  test("is not trusted because of a renewal that was sent before the suspension", async () => {
    const { clock, leases, hold, sent, lost, wallJumps } = scene();
    const run = hold(1, "a");
    await clock.advance(20);
    wallJumps(3_600_000);
    leases.check();
    expect(sent).toHaveLength(2);
    await clock.advance(4);
    await sent[0]!.answer();
    expect(leases.trusts(run)).toBe(false);
    await clock.advance(1);
    expect(lost).toEqual([{ token: "a", at: 25_000 }]);
  });
});

test("is not lost if the wall clock is set back, or forward within the lease", async () => {
  const { clock, leases, hold, sent, lost, wallJumps } = scene();
  const run = hold(1, "a");
  for (const ms of [-3_600_000, 3_600_000, 30_000]) {
    wallJumps(ms);
    leases.check();
    expect([leases.trusts(run), sent, lost]).toEqual([true, [], []]);
  }
  await clock.advance(20);
  expect(sent).toHaveLength(1);
});

test("a renewal that fails after its runs were settled is not reported", async () => {
  const { clock, leases, hold, sent, errors } = scene();
  const run = hold(1, "a");
  await clock.advance(20);
  leases.drop(run);
  await sent[0]!.fail();
  expect(errors).toEqual([]);
});

describe("a transaction that has extended the leases in the database", () => {
  test("extends the trust of those that were trusted when it began", async () => {
    const { clock, block, leases, lost, hold } = scene();
    const run = hold(1, "one", 1000);
    await clock.advance("300ms");
    block(3000);
    leases.extend(3000);
    expect(leases.trusts(run)).toBe(true);
    expect(lost).toEqual([]);
    await clock.advance("600ms");
    expect(leases.trusts(run)).toBe(false);
    expect(lost).toHaveLength(1);
  });

  test("does not extend one that had ended before", async () => {
    const { block, leases, lost, hold } = scene();
    const run = hold(1, "one", 1000);
    block(1000);
    block(3000);
    leases.extend(3000);
    expect(leases.trusts(run)).toBe(false);
    expect(lost).toHaveLength(1);
  });
});
