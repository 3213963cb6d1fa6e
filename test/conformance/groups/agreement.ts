import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { TestClock } from "../../../src/testing/clock.ts";
import { Model, type ModelLease, shownState } from "../support/model.ts";
import { LIMITS, RATES, type Step, steps } from "../support/model-steps.ts";
import {
  cap,
  claimRequest,
  define,
  exchange,
  ids,
  insertOne,
  list,
  settlement,
} from "../support/requests.ts";
import type { Database, Opened } from "../support/stores.ts";

const CRASH_CAP = 2;
const DURATION = 5;

/** Most time for all runs of the model, and for shortening one that fails. */
const LONGEST = 240_000;

const byId = (a: { id: number }, b: { id: number }) => a.id - b.id;

/** The model and the store side by side: each step is done to both, and both must answer the same. */
class Pair {
  readonly #at: Opened;
  readonly #store: Store;
  readonly #clock: TestClock;
  readonly #model: Model;
  readonly #leases: ModelLease[] = [];
  readonly #ids: number[] = [];

  constructor(at: Opened, store: Store, clock: TestClock) {
    this.#at = at;
    this.#store = store;
    this.#clock = clock;
    this.#model = new Model(clock.now(), { ...LIMITS, rates: RATES });
  }

  #run(which: number): number {
    return this.#ids.at(-1 - (which % Math.max(1, this.#ids.length))) ?? 999_999;
  }

  #lease(which: number): ModelLease {
    return (
      this.#leases.at(-1 - (which % Math.max(1, this.#leases.length))) ?? { id: this.#run(0), token: "none" }
    );
  }

  async take(step: Step): Promise<void> {
    const store = this.#store;
    const model = this.#model;
    switch (step.do) {
      case "insert": {
        const { do: _, ...fields } = step;
        const limited = step.name !== "free" || step.queue === "b";
        const id = await insertOne(store, fields);
        this.#ids.push(id);
        model.insert({ ...fields, id, limited });
        return;
      }
      case "claim": {
        const { do: _, worker, behind, ...fields } = step;
        const request = claimRequest({ ...fields, owner: worker, behind: () => behind });
        // Otherwise the store may not look at runs that were given back since a look which found only closed rates.
        await store.releaseJobs(worker);
        const answer = await exchange(store, { worker, claim: request });
        const tokens = new Map(answer.claimed.map(({ id, token }) => [id, token]));
        expect(ids(answer.claimed)).toEqual(model.claim({ ...step, token: request.token }, tokens));
        // The order does not matter.
        expect(answer.cancelled.toSorted((a, b) => a - b)).toEqual(model.cancelledOf(worker));
        for (const { id, token } of answer.claimed) this.#leases.push({ id, token });
        return;
      }
      case "settle": {
        // A worker never settles a run twice in one group.
        const leases = [...new Set(step.which.map((one) => this.#lease(one)))];
        const delay = step.outcome === "released" ? 0 : step.delay;
        const { settled } = await exchange(store, {
          worker: step.worker,
          settle: leases.map((lease) =>
            settlement(lease, step.outcome, { delay, duration: DURATION, keep: step.kept ? null : 0 }),
          ),
        });
        const how = { delay, duration: DURATION, kept: step.kept };
        expect(settled).toEqual(leases.map((lease) => model.settle(lease, step.outcome, how)));
        return;
      }
      case "renew": {
        const lease = this.#lease(step.which);
        const { held } = await store.renew("w1", [{ ...lease, lease: step.lease }]);
        expect(held.has(lease.id)).toBe(model.renew(lease, step.lease));
        return;
      }
      case "start": {
        const lease = this.#lease(step.which);
        expect(await store.start(lease, false)).toBe(model.start(lease));
        return;
      }
      case "advance":
        await this.#clock.advance(`${step.ms}ms`);
        model.now += step.ms;
        return;
      case "reap": {
        const reaped = await store.reap(step.limit, cap(CRASH_CAP), "crashed", null);
        // Worker by worker, in any order.
        expect(reaped.map(({ id, state, crashed }) => ({ id, state, crashed })).sort(byId)).toEqual(
          model.reap(step.limit, CRASH_CAP).sort(byId),
        );
        return;
      }
      case "cancel": {
        const id = this.#run(step.which);
        expect(await store.cancel(id, null)).toBe(model.cancel(id));
        return;
      }
      case "move": {
        const id = this.#run(step.which);
        expect(await store.move(id, model.now + step.by)).toBe(model.move(id, model.now + step.by));
        return;
      }
      case "revive": {
        const id = this.#run(step.which);
        expect(await store.revive(id)).toBe(model.revive(id));
        return;
      }
      case "remove": {
        const id = this.#run(step.which);
        expect(await store.remove(id)).toBe(model.remove(id));
        return;
      }
      case "pause job":
        await store.pauseJob(step.name, step.paused);
        model.pausedJobs[step.paused ? "add" : "delete"](step.name);
        return;
      case "pause queue":
        await store.pauseQueue(step.name, step.paused, null);
        model.pausedQueues[step.paused ? "add" : "delete"](step.name);
        return;
    }
  }

  async compare(): Promise<void> {
    const store = this.#store;
    const model = this.#model;
    const records = await list(store, { limit: 1000 });
    expect(
      records.reverse().map((record) => ({
        id: record.id,
        name: record.name,
        key: record.key,
        state: record.state,
        runAt: record.runAt,
        attempts: record.attempts,
        crashes: record.crashes,
        worker: record.worker,
        lockedUntil: record.lockedUntil,
        startedAt: record.startedAt,
      })),
    ).toEqual(
      model.runs.map((run) => ({
        id: run.id,
        name: run.name,
        key: run.key,
        state: shownState(run),
        runAt: run.runAt,
        attempts: run.attempts,
        crashes: run.crashes,
        worker: run.worker,
        lockedUntil: run.lockedUntil,
        startedAt: run.startedAt,
      })),
    );
    const { queues } = await store.status();
    for (const name of ["a", "b"]) {
      const queue = queues.find((one) => one.name === name);
      for (const state of ["ready", "scheduled", "running"] as const) {
        expect(queue?.[state] ?? 0).toBe(model.shown(state, name));
      }
    }
  }

  async checkInvariants(): Promise<void> {
    expect((await this.#store.checkInvariants(1000)).violations).toEqual([]);
  }

  async compareTries(): Promise<void> {
    for (const run of this.#model.runs) {
      const tries = await this.#store.attempts(run.id);
      expect(tries.map(({ outcome }) => outcome)).toEqual(run.tries);
    }
    const rows = await this.#at.sql<{ run_id: number }>("select distinct run_id from punctual_attempts");
    const known = new Set(ids(this.#model.runs));
    expect(rows.filter(({ run_id }) => !known.has(run_id))).toEqual([]);
  }
}

const TABLES = ["runs", "history", "attempts", "jobs", "schedules", "queues", "workers", "minutes", "rates"];

export function agreeing(database: Database): void {
  describe("the model and the store", () => {
    // One database for all sequences: creating hundreds would take most of the time.
    let at: Opened;
    beforeAll(async () => {
      at = await database.open(new TestClock());
      await at.store.install();
    });
    afterAll(() => at.teardown());

    async function check(steps: Step[]): Promise<void> {
      for (const table of TABLES) await at.sql(`delete from punctual_${table}`);
      const clock = new TestClock();
      const store = await openStore(at.url, { clock, prefix: "punctual_" });
      await define(
        store,
        Object.keys(LIMITS.jobLimits).map((name) => ({
          name,
          limit: LIMITS.jobLimits[name]!,
          keyLimit: LIMITS.keyLimits[name]!,
          rates: name.startsWith("rated")
            ? { job: RATES.job[name] ?? null, key: RATES.key[name] ?? null }
            : null,
        })),
        { queues: [{ name: "b", limit: LIMITS.queueLimits.b! }] },
      );
      const pair = new Pair(at, store, clock);
      for (const step of steps) {
        await pair.take(step);
        await pair.compare();
      }
      await pair.compareTries();
      await pair.checkInvariants();
      await store.close();
    }

    test(
      "agree after every step of a random sequence",
      async () => {
        // Every step is a round trip to a server, and all servers must agree. SEQUENCES=1000 is a longer proof.
        const numRuns = Number(process.env.SEQUENCES ?? (database.name === "sqlite" ? 80 : 20));
        await fc.assert(
          fc.asyncProperty(steps, check),
          // Vitest prints the seed of a failure; SEED repeats it. A slow machine tries fewer sequences, and the search
          // for a shorter failure is bounded.
          {
            numRuns,
            interruptAfterTimeLimit: LONGEST,
            ...(process.env.SEED && { seed: Number(process.env.SEED) }),
          },
        );
      },
      LONGEST + 60_000,
    );
  });
}
