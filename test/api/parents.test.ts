import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";

describe("a handler that dispatches", () => {
  test("is the parent of the new runs, however deep the call", async () => {
    const { jobs } = open();
    const later = async () => {
      await Promise.resolve();
      return jobs.dispatch("child", { by: "name" });
    };
    const child = jobs.schedule("child", () => {});
    jobs.schedule("parent", async () => {
      await child.dispatch();
      await later();
      await child.dispatchMany([{}, {}]);
      await jobs.delay(5).dispatch("child");
      await jobs.dispatch("ad hoc", () => {});
    });
    const parent = await jobs.dispatch("parent");
    await jobs.run();
    const { runs } = await jobs.runs({ parent: parent.id });
    expect(runs.map((run) => run.name).sort()).toEqual([
      "ad hoc",
      "child",
      "child",
      "child",
      "child",
      "child",
    ]);
    expect((await jobs.find(parent.id))?.parentId).toBeNull();
    expect((await jobs.dispatch("child").then((run) => jobs.find(run.id)))?.parentId).toBeNull();
  });

  test("of another instance is not the parent", async () => {
    const { jobs } = open();
    const other = open();
    other.jobs.schedule("child", () => {});
    let id = 0;
    jobs.schedule("parent", async () => {
      id = (await other.jobs.dispatch("child")).id;
    });
    await jobs.dispatch("parent");
    await jobs.run();
    expect((await other.jobs.find(id))?.parentId).toBeNull();
  });

  test("in a hook is the parent too", async () => {
    const { jobs } = open();
    jobs.schedule("child", () => {});
    jobs
      .schedule("parent", () => {})
      .onBefore(() => jobs.dispatch("child"))
      .onSuccess(() => jobs.dispatch("child"))
      .onAfter(() => jobs.dispatch("child"));
    const parent = await jobs.dispatch("parent");
    await jobs.run();
    expect((await jobs.runs({ parent: parent.id })).runs).toHaveLength(3);
  });
});
