import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isChain } from "../../../src/run/chains.ts";
import { systemClock } from "../../../src/time.ts";
import { type Limits, type Step, violations } from "../support/limit-journal.ts";
import { runScript } from "../support/processes.ts";
import { define, insert, list, times } from "../support/requests.ts";
import type { Database, Opened } from "../support/stores.ts";

const LIMITS: Limits = { jobs: { job: 3 }, keys: { keyed: 1 }, queues: { small: 5 } };

interface Seen {
  run: number;
  name: string;
  lane: string;
  queue: string;
  from: string;
  to: string;
}

async function race(url: string, processes: number): Promise<Seen[]> {
  const outputs = await Promise.all(
    times(processes, (n) => runScript("claim-racer.ts", url, `racer-${n}`, "2000")),
  );
  return outputs.flatMap((output) =>
    output
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Seen),
  );
}

/** Events of the processes in sequence: a run was theirs from the answer of its claim until its settlement was sent. */
function inOrder(seen: Seen[]): Step[] {
  const moments = seen.flatMap((one) => [
    { at: BigInt(one.from), step: { ...one, step: 1 as const } },
    { at: BigInt(one.to), step: { ...one, step: -1 as const } },
  ]);
  moments.sort((a, b) => (a.at === b.at ? a.step.step - b.step.step : a.at < b.at ? -1 : 1));
  return moments.map(({ step }) => step);
}

export function racing(database: Database): void {
  describe("processes that race", () => {
    let at: Opened;
    beforeEach(async () => {
      at = await database.open(systemClock);
      await at.store.install();
      await define(at.store, [{ name: "job", limit: 3 }, { name: "keyed", keyLimit: 1 }, { name: "free" }], {
        queues: [{ name: "small", limit: 5 }],
      });
      await insert(
        at.store,
        ...times(3000, (n) => ({
          name: "job",
          priority: n % 3,
          queue: n % 2 ? "small" : "default",
        })),
        ...times(3000, (n) => ({ name: "keyed", key: `k${n % 4}`, priority: n % 3 })),
        ...times(3000, (n) => ({ name: "free", queue: "small", priority: n % 3 })),
        ...times(1000, () => ({ name: "free" })),
      );
    });
    afterEach(() => at.teardown());

    const audited = () => at.sql<Step>("select step, run, name, lane, queue, token from audit order by seq");

    test("exceed no limit, and never hold the same run", async () => {
      await at.audit();
      const seen: Seen[] = [];
      let steps: Step[] = [];
      const most = (gate: (step: Step) => boolean) => {
        const slots: (string | number)[] = [];
        const used = steps.filter(gate).map(({ step, run, token }) => {
          const slot = token && isChain(token) ? token : run;
          if (step === 1) slots.push(slot);
          else slots.splice(slots.indexOf(slot), 1);
          return new Set(slots).size;
        });
        return Math.max(...used);
      };
      // A limit that is never reached would hold by accident.
      const used = () => [
        most(({ name }) => name === "job"),
        most(({ lane }) => lane === "keyed|k0"),
        most(({ queue }) => queue === "small"),
      ];
      const chained = () => steps.filter(({ token }) => isChain(token!)).length;
      const isEnough = () => steps.length > 200 && chained() > 20 && used().join() === "3,1,5";
      // Long enough to reach the limits and to form chains, also on a busy machine.
      for (let rounds = 0; rounds < 20 && !isEnough(); rounds++) {
        seen.push(...(await race(at.url, 4)));
        steps = await audited();
      }
      expect(used()).toEqual([3, 1, 5]);
      expect(steps.length).toBeGreaterThan(200);
      expect(new Set(seen.map(({ name }) => name))).toEqual(new Set(["job", "keyed", "free"]));
      expect(violations(steps, LIMITS)).toEqual([]);
      expect(violations(inOrder(seen), LIMITS)).toEqual([]);
      expect(steps.filter(({ step }) => step === 1)).toHaveLength(seen.length);
      expect(chained()).toBeGreaterThan(20);
      expect(await list(at.store, { states: ["running"], limit: 1 })).toEqual([]);
    });

    test("the check detects a limit that was exceeded behind the store's back", async () => {
      await at.audit();
      const take = (name: string, more: string, count: number) =>
        at.sql(
          `update punctual_runs set state = 2 where id in
             (select id from (select id from punctual_runs where name = '${name}' and state = 1 ${more} order by id limit ${count}) as few)`,
        );
      await take("job", "and queue = 'default'", 3);
      await take("keyed", "and lane = 'keyed|k0'", 1);
      await take("free", "and queue = 'small'", 5);
      expect(violations(await audited(), LIMITS)).toEqual([]);
      await take("job", "and queue = 'default'", 1);
      expect(violations(await audited(), LIMITS)).toEqual(["job job: 4 of 3"]);
      await take("keyed", "and lane = 'keyed|k0'", 1);
      await take("free", "and queue = 'small'", 1);
      expect(violations(await audited(), LIMITS)).toEqual([
        "job job: 4 of 3",
        "key keyed|k0: 2 of 1",
        "queue small: 6 of 5",
      ]);
    });

    test("the check detects a run that two workers hold", () => {
      const one = { run: 1, name: "free", lane: "free", queue: "default" };
      const twice = [
        { ...one, from: "10", to: "30" },
        { ...one, from: "20", to: "40" },
      ];
      expect(violations(inOrder(twice), LIMITS)).toContain("run 1 twice at once");
      const inTurn = [
        { ...one, from: "10", to: "20" },
        { ...one, from: "20", to: "40" },
      ];
      expect(violations(inOrder(inTurn), LIMITS)).toEqual([]);
    });
  });
}
