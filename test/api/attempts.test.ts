import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runScript, temporaryFolder } from "./support/child.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const policy = { max: 5, base: 2, cap: 30, jitter: "none" } as const;

describe("attempts is the same setting as retries", () => {
  test("of a job", () => {
    const { jobs } = open();
    const both = ["attempts", "retries"] as const;
    for (const name of both) {
      const settings = [
        jobs.define(`${name} 1`, () => {})[name](5),
        jobs.define(`${name} 2`, () => {})[name](5, 2, 30, "none"),
        jobs.define(`${name} 3`, () => {})[name](policy),
        jobs.define(`${name} 4`, () => {})[name]({ ...policy, base: undefined }),
      ].map((job) => job.settings.retries);
      expect(settings).toEqual([
        { max: 5, base: 1, cap: 60, jitter: "full" },
        policy,
        policy,
        { ...policy, base: 1 },
      ]);
    }
  });

  test("the number of one and the waits of the other combine", () => {
    const { jobs } = open();
    const job = jobs
      .define("task", () => {})
      .attempts(5)
      .retries({ base: 2 });
    expect(job.settings.retries).toMatchObject({ max: 5, base: 2 });
  });

  test("of the defaults", () => {
    const { jobs } = open({ defaults: { attempts: { max: 5, base: 2 } } });
    expect(jobs.define("task", () => {}).settings.retries).toMatchObject({ max: 5, base: 2 });
  });

  test("of a dispatch, a draft and a function", async () => {
    const { jobs } = open();
    const seen: number[] = [];
    const job = jobs.define("task", (_args, run) => void seen.push(run.maxAttempts)).concurrency(0);
    await job.dispatch({}, { attempts: 2 });
    await job.dispatch().attempts(3);
    await job.attempts({ max: 4 }).dispatch();
    await jobs.delay(0).attempts(5).dispatch("task");
    await jobs
      .dispatch("function", (_args, run) => void seen.push(run.maxAttempts))
      .attempts({ max: 6, when: () => true });
    await job.dispatchMany([{}], { attempts: { max: 7, base: 1 } });
    await jobs.run();
    expect(seen.sort()).toEqual([2, 3, 4, 5, 6, 7]);
  });
});

describe("only one of the two names may be given", () => {
  const text = "got both attempts (3) and retries (5), which are two names of one option. Leave out retries.";

  test("among the options of a dispatch", async () => {
    const { jobs } = open();
    const job = jobs.define("task", () => {});
    await expectRefusal(
      () => job.dispatch({}, { attempts: 3, retries: 5 }),
      "INVALID_OPTION",
      `dispatch() ${text}`,
    );
    expect((await job.dispatch({}, { attempts: 3, retries: undefined })).inserted).toBe(true);
  });

  test("among the defaults", async () => {
    await expectRefusal(
      () => open({ defaults: { attempts: 3, retries: 5 } }),
      "INVALID_OPTION",
      `defaults ${text}`,
    );
  });

  test("except that an instance may use the other name than the config it inherits from", async () => {
    const cwd = temporaryFolder();
    writeFileSync(
      join(cwd, "punctual.config.ts"),
      'export default { database: "sqlite::memory:", defaults: { retries: 3, priority: 7 } };',
    );
    const script = `import { Punctual } from "punctual";
      for (const defaults of [{}, { attempts: 5 }, { retries: 6 }]) {
        const { settings } = new Punctual({ defaults }).define("task", () => {});
        console.log(settings.retries.max, settings.priority);
      }`;
    expect(await runScript(script, { cwd })).toMatchObject({ stdout: "3 7\n5 7\n6 7\n", stderr: "" });
  });
});

test("errors name the setting that was used", async () => {
  const { jobs } = open();
  const job = jobs.define("task", () => {});
  await Promise.all([
    expectRefusal(() => job.attempts(0), "INVALID_OPTION", "attempts max (attempts in all)"),
    expectRefusal(
      () => job.attempts({ tries: 3 } as never),
      "INVALID_OPTION",
      'attempts() has no option "tries"',
    ),
    expectRefusal(() => job.attempts(3, -1), "INVALID_OPTION", "Expected attempts base in seconds"),
    expectRefusal(() => job.retries(3, -1), "INVALID_OPTION", "Expected retries base in seconds"),
  ]);
  await expectRefusal(
    () => job.dispatch({}, { attempts: { when: () => true } as never }),
    "INVALID_OPTION",
    "Give it to the job's own attempts()",
  );
});
