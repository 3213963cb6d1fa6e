import { describe, expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("names", () => {
  const euro = "€".repeat(63);

  test.each([
    ["a", "one letter"],
    [`${euro}xx`, "191 bytes"],
    ["emails.send", "a dot"],
    ["a|b", "the sign between job and key"],
    ["rm -rf '; drop table punctual_runs; --", "SQL"],
    ["%_\\`$1?:name", "signs of SQL"],
    ["👩‍👩‍👧 émojis", "beyond the basic plane"],
    [" spaces ", "spaces at the ends"],
    ["__proto__", "a key of every object"],
  ])("%s may be a name", async (name) => {
    const { jobs } = open();
    const seen: string[] = [];
    jobs.schedule(name, (_args, run) => {
      seen.push(run.name, run.queue, run.key ?? "", ...run.tags);
    });
    const run = await jobs.dispatch(name).queue(name).key(name).tags(name).unique(name);
    expect(await jobs.find(run.id)).toMatchObject({
      name,
      queue: name,
      key: name,
      tags: [name],
      uniqueKey: name,
    });
    expect(await jobs.run({ queues: [name] })).toBe(1);
    expect(seen).toEqual([name, name, name, name]);
    expect((await jobs.runs({ job: name, queue: name, key: name, tag: name })).runs).toHaveLength(1);
  });

  test("are case-sensitive", async () => {
    const { jobs } = open();
    const seen: string[] = [];
    for (const name of ["job", "Job"]) jobs.schedule(name, () => void seen.push(name));
    await jobs.dispatch("Job");
    await jobs.run();
    expect(seen).toEqual(["Job"]);
  });

  const refused = [
    ["", "at least one character"],
    [`${euro}xxx`, "at most 191 bytes, got 192 bytes"],
    ["a\0b", "without NUL"],
    ["half \ud83d", "well-formed Unicode"],
    [undefined, "as text, got undefined"],
    [42, "as text, got 42"],
  ] as const;

  test.each(refused)("%j is refused", async (name, part) => {
    const { jobs } = open();
    const job = jobs.schedule("job", () => {});
    const bad = name as string;
    for (const [what, work] of [
      ["a job name", () => jobs.declare(bad)],
      ["a queue name", () => jobs.queue(bad, { concurrency: 1 })],
      ["a queue name", () => job.draft().queue(bad)],
      ["a key", () => job.draft().key(bad)],
      ["a unique key", () => job.draft().unique(bad)],
      ["a tag", () => job.draft().tags("fine", bad)],
      ["a traceparent", () => job.draft().traceparent(bad)],
      ["a queue name", () => jobs.run({ queues: [bad] })],
      ["a queue name", () => jobs.pauseQueue(bad)],
      ["a job name", () => jobs.pauseJob(bad)],
    ] as const) {
      await expectRefusal(work, "INVALID_NAME", `Expected ${what}`, part);
    }
  });

  test.each(refused.filter(([name]) => typeof name === "string"))(
    "%j is refused for a job",
    async (name, part) => {
      const { jobs } = open();
      await expectRefusal(() => jobs.schedule(name as string, () => {}), "INVALID_NAME", "a job name", part);
      await expectRefusal(() => jobs.dispatch(name as string, () => {}), "INVALID_NAME", "a job name", part);
      await expectRefusal(() => jobs.dispatch(name as string), "INVALID_NAME", "a job name", part);
    },
  );

  test("two definitions of one name are refused", async () => {
    const { jobs } = open();
    jobs.schedule("job", () => {});
    await expectRefusal(
      () => jobs.schedule("job", () => {}),
      "DUPLICATE_JOB",
      'Job "job" is defined already',
      "another name",
    );
    await expectRefusal(() => jobs.dispatch("job", () => {}), "DUPLICATE_JOB", "Leave the function out");
  });
});
