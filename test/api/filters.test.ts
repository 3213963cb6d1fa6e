import { describe, expect, test } from "vitest";
import { heard, open } from "./support/instance.ts";

type Filter = () => boolean | Promise<boolean>;
const yes: Filter = () => true;
const no: Filter = () => false;
const yesLater: Filter = async () => true;
const noLater: Filter = async () => false;

describe("when and skip", () => {
  test.each([
    ["every when says yes", [yes, yesLater, yes], [], true],
    ["one when says no", [yes, no, yes], [], false],
    ["one when says no later", [yes, noLater], [], false],
    ["no skip says yes", [], [no, noLater], true],
    ["one skip says yes", [], [no, yes], false],
    ["one skip says yes later", [], [yesLater], false],
    ["both kinds agree", [yes], [no], true],
    ["when yes, skip yes", [yes], [yes], false],
    ["when no, skip no", [no], [no], false],
  ] as [string, Filter[], Filter[], boolean][])("%s", async (_what, when, skip, runs) => {
    const { jobs } = open();
    let ran = 0;
    const job = jobs.schedule("task", () => void ran++);
    for (const filter of when) job.when(filter);
    for (const filter of skip) job.skip(filter);
    const run = await job.dispatch();
    await jobs.run();
    expect(ran).toBe(runs ? 1 : 0);
    expect(await run.state()).toBe(runs ? "completed" : "skipped");
  });

  test("stop at the first filter that decides", async () => {
    const { jobs } = open();
    const asked: number[] = [];
    const ask = (n: number, answer: boolean) => () => {
      asked.push(n);
      return answer;
    };
    jobs
      .schedule("a", () => {})
      .when(ask(1, true))
      .when(ask(2, false))
      .when(ask(3, true))
      .skip(ask(4, false));
    await jobs.dispatch("a");
    await jobs.run();
    expect(asked).toEqual([1, 2]);
  });

  test("record and report the reason, and a skipped run is not a failure", async () => {
    const { jobs } = open();
    jobs.schedule("w", () => {}).when(no);
    jobs.schedule("s", () => {}).skip(yes);
    const w = await jobs.dispatch("w");
    const s = await jobs.dispatch("s");
    const told = heard(jobs, "run.skipped");
    await jobs.run({ parallel: 1 });
    expect(await told).toMatchObject({ id: w.id, name: "w", attempt: 1, reason: "when() returned false" });
    expect((await jobs.find(w.id))?.error?.message).toBe("when() returned false");
    expect((await jobs.find(s.id))?.error?.message).toBe("skip() returned true");
    expect(await jobs.attempts(w.id)).toEqual([]);
    const { jobs: rows } = await jobs.status();
    expect(rows.map((row) => [row.fails, row.lastError])).toEqual([
      [0, null],
      [0, null],
    ]);
  });

  test("a skipped run is not retried", async () => {
    const { jobs, clock } = open();
    jobs
      .schedule("task", () => {})
      .when(no)
      .retries(5);
    const run = await jobs.dispatch("task");
    expect(await jobs.run()).toBe(1);
    await clock.advance(100);
    expect(await jobs.run()).toBe(0);
    expect((await jobs.find(run.id))?.attempts).toBe(1);
  });

  test("accept any truthy value", async () => {
    const { jobs } = open();
    jobs
      .schedule("task", () => {})
      .when((() => "yes") as unknown as Filter)
      .skip((() => 0) as unknown as Filter);
    const run = await jobs.dispatch("task");
    await jobs.run();
    expect(await run.state()).toBe("completed");
  });
});
