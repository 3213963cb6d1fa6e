import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { systemClock } from "../../src/time.ts";
import { type Limits, type Step, violations } from "../conformance/support/limit-journal.ts";
import { define, insert, list, newRun, times } from "../conformance/support/requests.ts";
import { type Opened, selected } from "../conformance/support/stores.ts";
import { onEachServer } from "./support/kinds.ts";
import type { Gates } from "./support/open-racing.ts";

const LIMITS: Limits = { jobs: { job: 3, both: 4 }, keys: { keyed: 1, both: 2 }, queues: { small: 5 } };

/** Clients of different queues choose different runs of one job: only its gate prevents them from taking too many. */
const QUEUES = ["small", "default", "north", "south"];

const PROCESSES = 4;
const CLIENTS = 3;

interface Seen {
  run: number;
  name: string;
  lane: string;
  queue: string;
  from: string;
  to: string;
}

async function race(url: string, gates: Gates, ms: number): Promise<Seen[]> {
  const script = fileURLToPath(new URL("./support/store-racer.ts", import.meta.url));
  const outputs = await Promise.all(
    times(PROCESSES, (n) =>
      promisify(execFile)(
        process.execPath,
        [script, url, `racer-${n}`, String(CLIENTS), String(ms), gates, ...QUEUES],
        {
          maxBuffer: 2 ** 28,
        },
      ),
    ),
  );
  return outputs.flatMap(({ stdout }) => {
    const lines = stdout.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as Seen);
  });
}

/** A worker certainly held a run from the answer of its claim until its settlement was sent. */
function inOrder(seen: Seen[]): Step[] {
  const moments = seen.flatMap((one) => [
    { at: BigInt(one.from), step: { ...one, step: 1 as const } },
    { at: BigInt(one.to), step: { ...one, step: -1 as const } },
  ]);
  moments.sort((a, b) => (a.at === b.at ? a.step.step - b.step.step : a.at < b.at ? -1 : 1));
  return moments.map(({ step }) => step);
}

onEachServer((kind) => {
  let at: Opened;
  beforeEach(async () => {
    at = await selected.find(({ name }) => name === kind)!.open(systemClock);
    await at.store.install();
  });
  afterEach(() => at.teardown());

  describe(`${PROCESSES * CLIENTS} clients in ${PROCESSES} processes under limits of jobs, keys and queues together`, () => {
    beforeEach(async () => {
      const limits = { queues: [{ name: "small", limit: 5 }] };
      const jobs = [
        { name: "job", limit: 3 },
        { name: "keyed", keyLimit: 1 },
        { name: "both", limit: 4, keyLimit: 2 },
        { name: "free" },
      ];
      await define(at.store, jobs, limits);
      const limited = (name: string, n: number) => ({
        name,
        priority: n % 3,
        queue: QUEUES[n % QUEUES.length]!,
      });
      await insert(
        at.store,
        ...times(1000, (n) => limited("job", n)),
        ...times(1000, (n) => ({ ...limited("keyed", n), key: `k${n % 5}` })),
        ...times(1000, (n) => ({ ...limited("both", n), key: `k${n % 5}` })),
        ...times(1000, (n) => ({ ...limited("free", n), queue: "small" })),
        ...times(500, () => ({ name: "free" })),
      );
      await at.audit();
    });

    const audited = () => at.sql<Step>("select step, run, name, lane, queue, token from audit order by seq");

    test("exceed no limit, and no caller sees a deadlock", async () => {
      const seen: Seen[] = [];
      // Otherwise the test would show nothing.
      const isEnough = () => seen.length > 100 && new Set(seen.map(({ name }) => name)).size === 4;
      for (let tries = 0; tries < 10 && !isEnough(); tries++) {
        seen.push(...(await race(at.url, "closed", 3000)));
      }
      expect(isEnough()).toBe(true);
      const steps = await audited();
      expect(violations(steps, LIMITS)).toEqual([]);
      expect(violations(inOrder(seen), LIMITS)).toEqual([]);
      expect(steps.filter(({ step }) => step === 1)).toHaveLength(seen.length);
      expect(await list(at.store, { states: ["running"], limit: 1 })).toEqual([]);
    });

    test("exceed them without locks on the gates, which the check detects", async () => {
      let found: string[] = [];
      for (let tries = 0; found.length === 0 && tries < 10; tries++) {
        await race(at.url, "open", 1500);
        found = violations(await audited(), LIMITS);
      }
      expect(found.length).toBeGreaterThan(0);
    });
  });

  test("20 clients that dispatch with the same unique keys insert one run for each", async () => {
    const separator = at.url.includes("?") ? "&" : "?";
    const open = () => openStore(`${at.url}${separator}pool=1`, { clock: systemClock, prefix: "punctual_" });
    const clients: Store[] = await Promise.all(times(20, open));
    const keys = times(10, (n) => `key ${n}`);
    const winners = new Map<string, Set<number>>();
    let inserted = 0;
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        clients.map((store, index) => {
          // Not all in the same order.
          const mine = keys.map((_, n) => `${round} ${keys[(n * 3 + index) % keys.length]}`);
          const runs = mine.map((key) => newRun({ unique: { key, until: "finished", for: 0 } }));
          return store.insert(runs).then((got) => got.map((one, n) => ({ ...one, key: mine[n]! })));
        }),
      );
      for (const { key, id, inserted: mine } of answers.flat()) {
        winners.set(key, (winners.get(key) ?? new Set()).add(id));
        if (mine) inserted++;
      }
    }
    await Promise.all(clients.map((store) => store.close()));
    expect(winners.size).toBe(50);
    expect([...winners.values()].map((ids) => ids.size)).toEqual(times(50, () => 1));
    expect(inserted).toBe(50);
    const [count] = await at.sql<{ n: number }>("select count(*) as n from punctual_runs");
    expect(count!.n).toBe(50);
  });
});
