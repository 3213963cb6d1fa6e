import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const START = new Date("2026-01-01T00:00:00Z");
const later = (seconds: number) => new Date(START.getTime() + seconds * 1000);

function setUp() {
  const one = open();
  one.clock.set(START);
  const task = one.jobs.schedule("task", () => {}).timezone("America/New_York");
  return { ...one, task };
}

describe("a relative instant", () => {
  test.each([
    ["+5 seconds", 5],
    ["+5s", 5],
    [" + 1h 30m ", 5400],
    ["+1 day", 86_400],
    ["+0s", 0],
  ])("%j counts from the dispatch, whatever the job's zone", async (text, seconds) => {
    const { jobs, task } = setUp();
    const dispatches = [
      task.at(text).dispatch(),
      jobs.at(text).dispatch("task"),
      jobs.dispatch("task").at(text),
      jobs.dispatch("task", {}, { at: text }),
      jobs.register("task", {}, text),
    ];
    for (const dispatch of dispatches)
      expect((await jobs.find((await dispatch).id))?.runAt).toEqual(later(seconds));
  });

  test("replaces an instant that was chained before, and the other way round", async () => {
    const { jobs } = setUp();
    const late = await jobs.dispatch("task").at("2027-01-01").at("+5 seconds");
    expect((await jobs.find(late.id))?.runAt).toEqual(later(5));
    const fixed = await jobs.dispatch("task").at("+5 seconds").at("2027-01-01T00:00:00Z");
    expect((await jobs.find(fixed.id))?.runAt).toEqual(new Date("2027-01-01T00:00:00Z"));
  });

  test("moves and retries a run from now", async () => {
    const { jobs, clock } = setUp();
    const run = await jobs.dispatch("task").at("+1h");
    await clock.advance(10);
    await run.at("+5 seconds");
    expect((await jobs.find(run.id))?.runAt).toEqual(later(15));
    await clock.advance(5);
    await jobs.run();
    await jobs.retry(run.id, { at: "+1 minute" });
    expect((await jobs.find(run.id))?.runAt).toEqual(later(75));
  });

  test("is refused if it is not a duration, or if there is no now", async () => {
    const { jobs, task } = setUp();
    await expectRefusal(
      () => task.startingAt("+5 seconds"),
      "INVALID_INSTANT",
      "A relative instant is not allowed here",
    );
    await expectRefusal(() => jobs.dispatch("task").at("+5 parsecs"), "INVALID_DURATION", 'after "+"');
    await expectRefusal(() => jobs.dispatch("task").at("-5 seconds"), "INVALID_INSTANT");
  });
});

test("queue(null) is the default queue, on a definition and on a dispatch", async () => {
  const { jobs } = open({ defaults: { queue: "slow" } });
  const task = jobs.schedule("task", () => {});
  const queueOf = async (run: PromiseLike<{ id: number }>) => (await jobs.find((await run).id))?.queue;
  expect(await queueOf(task.dispatch())).toBe("slow");
  expect(await queueOf(task.dispatch().queue(null))).toBe("default");
  expect(await queueOf(jobs.dispatch("task", {}, { queue: null }))).toBe("default");
  expect(await queueOf(task.queue("own").dispatch())).toBe("own");
  expect(await queueOf(task.queue(null).dispatch())).toBe("default");
});
