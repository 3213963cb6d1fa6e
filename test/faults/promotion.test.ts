import { expect, test } from "vitest";
import type { Punctual, Run } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { onOwnServer } from "./support/kinds.ts";
import { keepDispatching } from "./support/load.ts";
import { ReplicatedPair } from "./support/replicated-pair.ts";
import type { Act } from "./support/server-worker.ts";

const SOME = 40;

/** Ids that the sequence logs ahead: a standby that lags less has a sequence that is further than the runs. */
const LOGGED_AHEAD = 32;

const inOrder = (ids: Iterable<number>) => [...ids].sort((a, b) => a - b);

async function dispatch(jobs: Punctual, count: number): Promise<number[]> {
  const job = jobs.schedule<Act>("work", () => {}).concurrency(0);
  const ids: number[] = [];
  for (let n = 0; n < count; n++) ids.push(((await job.dispatch({})) as Run).id);
  return ids;
}

onOwnServer(() => {
  test("synchronous: no accepted run is lost or repeated, and a first dispatch waits for the promotion", async () => {
    const pair = await ReplicatedPair.start({ synchronous: true });
    pair.worker("worker", { brief: true, ticks: true });
    await pair.journal.until({ what: "worker.started", by: "worker" });
    const load = [keepDispatching(pair.punctual()), keepDispatching(pair.punctual())];
    await eventually("runs before the failover", () => load.every(({ accepted }) => accepted.length > SOME));
    await pair.primary.kill();
    const before = load.map(({ accepted }) => accepted.length);
    // Its instance has never reached a server.
    const newcomer = keepDispatching(pair.punctual());
    const single = keepDispatching(pair.punctual(pair.standby.url));
    await pair.promote();
    const all = [...load, newcomer, single];
    await eventually("runs after the failover", () =>
      all.every(({ accepted }, index) => accepted.length > (before[index] ?? 0) + SOME),
    );
    for (const one of all) await one.stop();
    const accepted = all.flatMap((one) => one.accepted);
    expect(new Set(accepted).size).toBe(accepted.length);

    await pair.expectEachOnce(await pair.connect(pair.standby), accepted);
  });

  test("asynchronous: unreplicated runs are lost, no id is given twice, and every later run is settled", async () => {
    const pair = await ReplicatedPair.start({ synchronous: false });
    pair.worker("worker", { brief: true, lease: 5, ticks: true });
    await pair.journal.until({ what: "worker.started", by: "worker" });
    const survivor = pair.punctual();
    const bystander = pair.punctual();
    const kept = [...(await dispatch(survivor, SOME)), ...(await dispatch(bystander, 1))];
    await pair.untilReplicated();
    await pair.link.close();
    // Some of these have run when they are lost.
    const lost = await dispatch(survivor, 2 * LOGGED_AHEAD + SOME);
    await pair.journal.until({ what: "start", run: lost[LOGGED_AHEAD + SOME]! });
    await pair.primary.kill();
    await pair.promote();

    // The first process to take ids on the new timeline did not dispatch the lost runs.
    const newcomer = pair.punctual();
    const later = [
      ...(await dispatch(bystander, SOME)),
      ...(await dispatch(newcomer, SOME)),
      ...(await dispatch(survivor, SOME)),
      ...(await dispatch(pair.punctual(pair.standby.url), SOME)),
    ];
    const all = [...kept, ...lost, ...later];
    expect(new Set(all).size).toBe(all.length);
    const direct = await pair.connect(pair.standby);
    const unfinished = () => direct.sql("select id from punctual_runs where name = 'work'");
    await eventually("all runs to finish", async () => (await unfinished()).length === 0);
    const history = await direct.sql<{ id: number; state: number }>(
      "select id, state from punctual_history where name = 'work' order by id",
    );
    expect(history.map(({ id }) => id)).toEqual(inOrder([...kept, ...later]));
    expect(history.filter(({ state }) => state !== 3)).toEqual([]);
    const starts = pair.starts();
    expect(later.filter((id) => starts.get(id) !== 1)).toEqual([]);
    // A lost tick is made again, by another run: its mark was lost with it. The standby has each tick once.
    const ticks = () =>
      direct.sql<{ tick: string; runs: number; id: number }>(
        `select tick_at as tick, count(*)::int as runs, max(id) as id
           from (select id, tick_at from punctual_history where name = 'beat'
                 union all select id, tick_at from punctual_runs where name = 'beat') beats
          group by tick_at order by tick_at`,
      );
    await eventually("ticks after the failover", async () =>
      (await ticks()).some(({ id }) => Number(id) > Math.max(...later)),
    );
    expect((await ticks()).filter(({ runs }) => runs !== 1)).toEqual([]);
    const beats = pair.journal.find({ what: "start", job: "beat" });
    const twice = [...Map.groupBy(beats, ({ run }) => run).values()].filter(({ length }) => length > 1);
    expect(twice).toEqual([]);
    expect(pair.journal.find({ what: "error" })).toEqual([]);
  });
}, ["postgres"]);
