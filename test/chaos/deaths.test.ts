import { test as base, describe, expect, type TestAPI } from "vitest";
import type { SuperviseOptions } from "../../src/index.ts";
import { systemClock } from "../../src/time.ts";
import { sqlite } from "../conformance/support/sqlite-database.ts";
import { eventually } from "../support/eventually.ts";
import { Chaos } from "./support/chaos.ts";

type More = Omit<ConstructorParameters<typeof Chaos>[2], "lease">;

const test: TestAPI<{ chaosWith(options: SuperviseOptions, more?: More): Promise<Chaos> }> = base.extend<{
  chaosWith(options: SuperviseOptions, more?: More): Promise<Chaos>;
}>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures this one needs.
  chaosWith: async ({}, use) => {
    const opened = await sqlite.openInstalled(systemClock);
    let chaos: Chaos | undefined;
    await use(async (options, more) => {
      chaos = new Chaos(opened.url, options, { lease: 60, ...more });
      return chaos;
    });
    await chaos?.clear();
    await opened.teardown();
  },
});

const untilFinished = ({ jobs }: Chaos, id: number) =>
  eventually(`run ${id} to finish`, async () => {
    const run = await jobs.find(id);
    return run?.finishedAt && run;
  });

describe("a child that dies before any of its runs has started", () => {
  test("loses its assigned runs, and none is charged", async ({ chaosWith }) => {
    const chaos = await chaosWith({ workers: 1 }, { dieWhenGiven: 2 });
    const { id } = await chaos.job.free.dispatch({ ms: 0 });
    chaos.start();
    expect(await untilFinished(chaos, id)).toMatchObject({ state: "completed", attempts: 1, crashes: 0 });
    expect(chaos.journal.find({ what: "dies" })).toHaveLength(2);
  });

  test("again and again, because of a run that it cannot read, fails that run", async ({ chaosWith }) => {
    const chaos = await chaosWith({ workers: 3 }, { dieWhenGiven: 100 });
    const { id } = await chaos.job.free.dispatch({ ms: 0 });
    chaos.start();
    expect(await untilFinished(chaos, id)).toMatchObject({ state: "failed", crashes: 3 });
  });
});
