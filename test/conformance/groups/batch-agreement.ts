import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BatchMoment } from "../../../src/store/batches.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { TestClock } from "../../../src/testing/clock.ts";
import { BatchModel, type ModelBatch, type ModelMember } from "../support/batch-model.ts";
import { cap, claimRequest, exchange, ids, list, newRun, settlement, times } from "../support/requests.ts";
import type { Database, Opened } from "../support/stores.ts";

const MOMENTS: BatchMoment[] = ["success", "failure", "finish"];
const CALLBACKS = MOMENTS.map((on) => ({ on, run: newRun({ name: on }) }));
const CRASH_CAP = 2;
const LEASE = 60_000;

/** Most time for all sequences, and for shortening one that fails. */
const LONGEST = 180_000;

/** `which` counts backwards, among batches or among members. */
type BatchStep =
  | { do: "add"; which: number; count: number; seal: boolean; byMember: boolean }
  | { do: "seal" | "cancel" | "die while cancelling" | "retry"; which: number };
type MemberStep =
  | { do: "settle"; which: number; outcome: (typeof OUTCOMES)[number]; kept: boolean }
  | { do: "cancel member" | "remove member" | "revive member"; which: number };
type Step =
  | { do: "create"; count: number; cancels: boolean; seal: boolean }
  | { do: "claim"; limit: number }
  | { do: "reap" | "prune" | "sweep" }
  | BatchStep
  | MemberStep;

const OUTCOMES = ["completed", "failed", "cancelled", "skipped", "retried", "released"] as const;

const which = fc.nat(5);
const of = <Kind extends Step["do"], Fields>(
  kind: Kind,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): fc.Arbitrary<Step> => fc.record(fields).map((made) => ({ do: kind, ...made }) as unknown as Step);

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: of("create", { count: fc.nat(3), cancels: fc.boolean(), seal: fc.boolean() }),
    },
    {
      weight: 3,
      arbitrary: of("add", {
        which,
        count: fc.integer({ min: 1, max: 2 }),
        seal: fc.boolean(),
        byMember: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: of("seal", { which }) },
    { weight: 1, arbitrary: of("cancel", { which }) },
    { weight: 1, arbitrary: of("die while cancelling", { which }) },
    { weight: 3, arbitrary: of("retry", { which }) },
    { weight: 7, arbitrary: of("claim", { limit: fc.integer({ min: 1, max: 4 }) }) },
    {
      weight: 12,
      arbitrary: of("settle", { which, outcome: fc.constantFrom(...OUTCOMES), kept: fc.boolean() }),
    },
    { weight: 1, arbitrary: of("cancel member", { which }) },
    { weight: 1, arbitrary: of("remove member", { which }) },
    { weight: 1, arbitrary: of("revive member", { which }) },
    { weight: 1, arbitrary: of("reap", {}) },
    { weight: 1, arbitrary: of("prune", {}) },
    { weight: 1, arbitrary: of("sweep", {}) },
  ),
  { minLength: 10, maxLength: 50, size: "max" },
);

/** The model and the store side by side. */
class Pair {
  readonly #store: Store;
  readonly #at: Opened;
  readonly #clock: TestClock;
  readonly #model: BatchModel;

  constructor(at: Opened, store: Store, clock: TestClock) {
    this.#at = at;
    this.#store = store;
    this.#clock = clock;
    this.#model = new BatchModel(clock.now());
  }

  async take(step: Step): Promise<void> {
    const { batches } = this.#store;
    const model = this.#model;
    if (step.do === "create") {
      const { count, cancels, seal } = step;
      const made = await batches.create({ name: "batch", cancels, callbacks: CALLBACKS }, members(count), {
        seal,
      });
      return model.create(made.id, ids(made.inserted), { cancels, seal });
    }
    if (step.do === "claim") return this.#claim(step.limit);
    if (step.do === "reap") {
      await this.#advance(LEASE + 1);
      await this.#store.reap(1000, cap(CRASH_CAP), "crashed", null);
      return model.reap(CRASH_CAP);
    }
    if (step.do === "prune") {
      await this.#advance(1000);
      const days = 1000 * 86_400_000;
      const request = { finishedFor: 500, jobsUnseenFor: days, orphansOlderThan: days, batch: 100 };
      await this.#store.prune(request);
      return model.prune();
    }
    if (step.do === "sweep") {
      await batches.sweep();
      return model.sweep();
    }
    if (
      step.do === "settle" ||
      step.do === "cancel member" ||
      step.do === "remove member" ||
      step.do === "revive member"
    )
      return this.#changeMember(step);
    const change = step as BatchStep;
    const batch = model.batches.at(-1 - (change.which % Math.max(1, model.batches.length)));
    if (batch) await this.#changeBatch(change, batch);
  }

  async #changeBatch(step: BatchStep, batch: ModelBatch): Promise<void> {
    const { batches } = this.#store;
    const model = this.#model;
    switch (step.do) {
      case "add": {
        const { count, seal, byMember } = step;
        const answer = await batches.add(batch.id, members(count), { seal, byMember });
        const refusal = model.refusal(batch, byMember);
        if (refusal) expect(answer).toBe(refusal);
        else model.add(batch, ids(answer as { id: number }[]), seal);
        return;
      }
      case "seal":
        expect(await batches.seal(batch.id)).toBe(model.seal(batch));
        return;
      case "cancel": {
        const answer = await batches.cancel(batch.id);
        expect(answer).toEqual(batch.isFinished ? "finished" : model.cancel(batch));
        return;
      }
      case "die while cancelling":
        if (batch.isFinished) return;
        await this.#at.sql(
          "update punctual_batches set cancelled_at = coalesce(cancelled_at, ?), sealed_at = coalesce(sealed_at, ?) where id = ?",
          ...[this.#clock.now(), this.#clock.now(), batch.id],
        );
        return model.markCancelled(batch);
      case "retry":
        expect(await batches.retry(batch.id)).toBe(model.retry(batch));
        return;
    }
  }

  async #claim(limit: number): Promise<void> {
    const model = this.#model;
    const waiting = model.members.filter(({ state }) => state === "waiting");
    const claim = claimRequest({ limit, lease: LEASE, exclude: MOMENTS });
    const { claimed } = await exchange(this.#store, { claim });
    expect(claimed).toHaveLength(Math.min(limit, waiting.length));
    for (const { id, token } of claimed) {
      const member = waiting.find((one) => one.id === id)!;
      model.claim(member, token, model.now + LEASE);
    }
    const { cancelled } = await exchange(this.#store);
    const requested = model.members.filter(
      ({ state, isEndRequested }) => state === "running" && isEndRequested,
    );
    expect(cancelled.toSorted((a, b) => a - b)).toEqual(ids(requested));
  }

  async #changeMember(step: MemberStep): Promise<void> {
    const model = this.#model;
    const store = this.#store;
    const pick = (all: ModelMember[]) => all.at(-1 - (step.which % Math.max(1, all.length)));
    if (step.do === "settle") {
      const member = pick(model.members.filter(({ state }) => state === "running"));
      if (!member) return;
      const { outcome, kept } = step;
      const fields = { batchId: String(member.batch), keep: kept ? null : 0 };
      const settle = [settlement({ id: member.id, token: member.token! }, outcome, fields)];
      const { settled } = await exchange(store, { settle });
      const end = outcome === "retried" || outcome === "released" ? "waiting" : outcome;
      expect(settled).toEqual([model.settle(member, end, kept)]);
      return;
    }
    const isWaiting = ({ state }: ModelMember) => state === "waiting";
    const isActive = (one: ModelMember) => isWaiting(one) || one.state === "running";
    if (step.do === "cancel member") {
      const member = pick(model.members.filter(isActive));
      if (!member) return;
      expect(await store.cancel(member.id, null)).toBe(isWaiting(member) ? "ended" : "requested");
      return model.cancelMember(member);
    }
    const kept = model.members.filter((one) => one.isKept && one.state !== "running");
    const member = pick(step.do === "revive member" ? kept.filter((one) => !isWaiting(one)) : kept);
    if (!member) return;
    if (step.do === "revive member") {
      expect(await store.revive(member.id)).toBe("revived");
      model.revive(member);
    } else {
      expect(await store.remove(member.id)).toBe("removed");
      model.remove(member);
    }
  }

  async #advance(ms: number): Promise<void> {
    await this.#clock.advance(`${ms}ms`);
    this.#model.now += ms;
  }

  async compare(): Promise<void> {
    const callbacks = (await list(this.#store, { states: ["ready"], limit: 1000 })).filter(({ name }) =>
      (MOMENTS as string[]).includes(name),
    );
    for (const batch of this.#model.batches) {
      const { id, isSealed, isCancelled, isFinished, hasFailed, cancels: _, dispatched, ...counts } = batch;
      const stored = (await this.#store.batch(id))!;
      const dates = {
        isSealed: stored.sealedAt !== null,
        isCancelled: stored.cancelledAt !== null,
        isFinished: stored.finishedAt !== null,
        hasFailed: stored.failedAt !== null,
      };
      const runs = callbacks.filter(({ batchId }) => batchId?.startsWith(`${id}/`)).toReversed();
      expect({ ...stored, ...dates, dispatched: runs.map(({ name }) => name) }).toMatchObject({
        ...{ id, isSealed, isCancelled, isFinished, hasFailed, dispatched },
        ...counts,
      });
    }
  }

  async checkInvariants(): Promise<void> {
    expect((await this.#store.checkInvariants(1000)).violations).toEqual([]);
  }
}

function members(count: number) {
  return times(count, () => newRun({ name: "member" }));
}

const TABLES = ["runs", "history", "attempts", "batches", "batch_members", "batch_counts", "workers"];

export function agreeingOnBatches(database: Database): void {
  describe("the model of batches and the store", () => {
    let at: Opened;
    beforeAll(async () => {
      at = await database.open(new TestClock());
      await at.store.install();
    });
    afterAll(() => at.teardown());

    async function check(sequence: Step[]): Promise<void> {
      for (const table of TABLES) await at.sql(`delete from punctual_${table}`);
      const clock = new TestClock();
      const store = await openStore(at.url, { clock, prefix: "punctual_" });
      const pair = new Pair(at, store, clock);
      try {
        for (const step of sequence) {
          await pair.take(step);
          await pair.compare();
        }
        await pair.checkInvariants();
      } finally {
        await store.close();
      }
    }

    test(
      "agree on counts, marks and callbacks after every step of a random sequence",
      async () => {
        const numRuns = Number(process.env.SEQUENCES ?? (database.name === "sqlite" ? 80 : 12));
        await fc.assert(fc.asyncProperty(steps, check), {
          numRuns,
          interruptAfterTimeLimit: LONGEST,
          ...(process.env.SEED && { seed: Number(process.env.SEED) }),
        });
      },
      LONGEST + 60_000,
    );
  });
}
