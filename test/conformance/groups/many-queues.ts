import { describe, expect, test } from "vitest";
import type { ClaimedRun, ClaimRequest } from "../../../src/store/store.ts";
import { fresh } from "../support/fresh.ts";
import {
  claim,
  claimRequest,
  define,
  exchange,
  ids,
  insert,
  settlement,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const QUEUES = 200;
const RUNS = 1200;

/** Sizes of claims, in turn. The large ones may continue where the one before ended (note 39). */
const LIMITS = [1, 300, 7, 120, 64, 2, 250];

interface Run {
  id: number;
  name: string;
  queue: string;
  priority: number;
}

/** The same random numbers for each test. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

const queueAt = (part: number) => `q${Math.floor(part * QUEUES)}`;

/** Queues and priorities of runs, by their numbers. */
const patterns: Record<string, () => (index: number) => { queue: string; priority: number }> = {
  "one queue after the other in turn": () => (index) => ({ queue: `q${index % QUEUES}`, priority: 100 }),
  "queues of very different lengths, and random priorities": () => {
    const random = seeded(7);
    return () => ({ queue: queueAt(random() ** 4), priority: Math.floor(random() * 5) });
  },
  "a queue for each priority, the longest last": () => {
    const random = seeded(11);
    return () => {
      const part = Math.sqrt(random());
      return { queue: queueAt(part), priority: Math.floor(part * QUEUES) };
    };
  },
  "one long queue among queues of few runs": () => {
    const random = seeded(13);
    return (index) => ({
      queue: index % 3 === 0 ? queueAt(random()) : "long",
      priority: Math.floor(random() * 3),
    });
  },
};

const inOrder = (runs: Run[]) => runs.toSorted((a, b) => a.priority - b.priority || a.id - b.id);

/** Without ties, and without random numbers. */
const strideOf = (queue: string) => 1 + Number(queue.slice(1)) * 0.013_7;

/** The runs that a claim with these strides takes, if it knows every ready run. */
function byShares(runs: Run[], limit: number): Run[] {
  const queues = [...Map.groupBy(inOrder(runs), ({ queue }) => queue)].map(([queue, waiting]) => ({
    stride: strideOf(queue),
    waiting,
    taken: 0,
  }));
  const picked: Run[] = [];
  for (let left = queues; picked.length < limit && left.length > 0; ) {
    const next = left.reduce((a, b) => ((a.taken + 1) * a.stride <= (b.taken + 1) * b.stride ? a : b));
    picked.push(next.waiting[next.taken++]!);
    left = left.filter(({ waiting, taken }) => taken < waiting.length);
  }
  return picked;
}

export function manyQueues(database: Database): void {
  describe("claims of many queues", () => {
    const at = fresh(database);

    async function fill(
      fieldsOf: (index: number) => Omit<Run, "id" | "name"> & { name?: string },
    ): Promise<Run[]> {
      const fields = times(RUNS, (index) => ({ name: "job", ...fieldsOf(index) }));
      const inserted = await insert(at.store, ...fields);
      return fields.map((run, index) => ({ ...run, id: inserted[index]! }));
    }

    /** Claims until nothing is left, as a busy worker does, and compares each claim with the one of the model. */
    async function drain(
      runs: Run[],
      expected: (waiting: Run[], limit: number) => Run[],
      fields: Partial<ClaimRequest> = {},
    ): Promise<void> {
      let waiting = runs;
      let claimed: ClaimedRun[] = [];
      for (let claims = 0; waiting.length > 0; claims++) {
        const limit = LIMITS[claims % LIMITS.length]!;
        const settle = claimed.map((run) => settlement(run, "completed", { keep: 0 }));
        ({ claimed } = await exchange(at.store, { settle, claim: claimRequest({ limit, ...fields }) }));
        expect(ids(claimed)).toEqual(ids(expected(waiting, limit)));
        const taken = new Set(ids(claimed));
        waiting = waiting.filter(({ id }) => !taken.has(id));
      }
    }

    for (const [name, pattern] of Object.entries(patterns)) {
      test(`take the first runs of all together: ${name}`, async () => {
        const runs = await fill(pattern());
        await drain(runs, (waiting, limit) => inOrder(waiting).slice(0, limit));
      });
    }

    test("take each queue's share, in its order", async () => {
      const random = seeded(17);
      const runs = await fill(() => ({ queue: queueAt(random() ** 2), priority: Math.floor(random() * 4) }));
      await drain(runs, byShares, { stride: strideOf });
    });

    test("take the first runs of open jobs, in queues with runs of closed ones", async () => {
      const random = seeded(19);
      await define(at.store, [{ name: "theirs" }]);
      const runs = await fill(() => ({
        name: random() < 0.3 ? "theirs" : "job",
        // Few queues: each is searched for lanes.
        queue: queueAt(random() ** 4 / 10),
        priority: Math.floor(random() * 3),
      }));
      const open = runs.filter(({ name }) => name === "job");
      await drain(open, (waiting, limit) => inOrder(waiting).slice(0, limit), { exclude: ["theirs"] });
    });

    test("take a run that has become the most important, whatever earlier claims took of its queue", async () => {
      const random = seeded(23);
      await fill(() => ({ queue: queueAt(random()), priority: 100 }));
      for (let round = 0; round < 10; round++) {
        const urgent = times(3 * round + 1, () => ({ queue: queueAt(random()), priority: 99 - round }));
        const inserted = await insert(at.store, ...urgent);
        const taken = await claim(at.store, { limit: 40 });
        expect(ids(taken).slice(0, inserted.length)).toEqual(inserted);
        expect(taken).toHaveLength(40);
      }
    });
  });
}
