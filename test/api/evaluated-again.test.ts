import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import type { Punctual } from "../../src/index.ts";
import { runScript, temporaryFolder } from "./support/child.ts";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

type Define = (jobs: Punctual) => void;

/** Evaluates a job file as a dev server does after an edit: in the same process, on the instance that survives. */
function evaluator(folder: string): (file: string, text: string) => Promise<Define> {
  let evaluation = 0;
  return async (file, text) => {
    const path = join(folder, file);
    writeFileSync(path, `${text}\n`);
    const module = await import(/* @vite-ignore */ `${pathToFileURL(path).href}?evaluation=${++evaluation}`);
    return module.default;
  };
}

function collectWarnings(): { lines: string[]; logger: Record<"debug" | "info" | "warn" | "error", never> } {
  const lines: string[] = [];
  const quiet = () => {};
  const logger = { debug: quiet, info: quiet, warn: (line: string) => lines.push(line), error: quiet };
  return { lines, logger: logger as never };
}

const define = (queue: string, before = "") =>
  `${before}export default (jobs) => void jobs.schedule("report", () => "${queue}").queue("${queue}");`;

test("a file that is evaluated again replaces its definitions, even if an edit moved the lines", async () => {
  const evaluate = evaluator(temporaryFolder());
  const { lines, logger } = collectWarnings();
  const { jobs } = open({ logger });
  (await evaluate("report.mjs", define("one")))(jobs);
  expect((await jobs.dispatch("report").then((run) => jobs.find(run.id)))?.queue).toBe("one");
  (await evaluate("report.mjs", define("two", "// a comment\n\n")))(jobs);
  expect((await jobs.dispatch("report").then((run) => jobs.find(run.id)))?.queue).toBe("two");
  await Promise.resolve();
  (await evaluate("report.mjs", define("three")))(jobs);
  expect(jobs.definitions().map(({ name, settings }) => [name, settings.queue])).toEqual([
    ["report", "three"],
  ]);
  const run = await jobs.dispatch("report");
  await jobs.run();
  expect((await jobs.find(run.id))?.result).toBe("three");
  expect(lines.filter((line) => line.includes('"report"'))).toEqual([
    expect.stringMatching(/job "report" was defined again, at .*report\.mjs:3: the new definition replaces/),
  ]);
});

test("another file with the same job is a duplicate, and the error names the first one", async () => {
  const evaluate = evaluator(temporaryFolder());
  const { jobs } = open();
  (await evaluate("a.mjs", define("one")))(jobs);
  await Promise.resolve();
  const second = await evaluate("b.mjs", define("two"));
  await expectRefusal(() => second(jobs), "DUPLICATE_JOB", 'Job "report" is defined already, at ', "a.mjs:1");
  expect(jobs.definitions()[0]!.settings.queue).toBe("one");
});

test("two definitions of one name in one evaluation are a duplicate", async () => {
  const evaluate = evaluator(temporaryFolder());
  const { jobs } = open();
  const text = `export default (jobs) => { jobs.schedule("report", () => {}); jobs.schedule("report", () => {}); };`;
  const twice = await evaluate("report.mjs", text);
  await expectRefusal(() => twice(jobs), "DUPLICATE_JOB", "report.mjs:1");
});

test("a schedule that a file no longer has is dropped after a new evaluation", async () => {
  const evaluate = evaluator(temporaryFolder());
  const { jobs, clock } = open();
  const text = (helper: string) =>
    `export default (jobs) => void jobs.schedule("report", () => {})${helper};`;
  (await evaluate("report.mjs", text(".everyMinute()")))(jobs);
  await jobs.run();
  (await evaluate("report.mjs", text("")))(jobs);
  await clock.advance(120);
  expect(await jobs.run()).toBe(0);
  (await evaluate("report.mjs", text(".everyMinute()")))(jobs);
  await jobs.run();
  await clock.advance(60);
  expect(await jobs.run()).toBe(1);
});

test("two chunks of a bundler count as one file if their source maps say so", async () => {
  const folder = temporaryFolder();
  const chunk = (file: string, source: string, queue: string) => {
    // One segment: the first line and column of the chunk are those of the source.
    const map = { version: 3, sources: [source], names: [], mappings: "AAAA" };
    const inline = Buffer.from(JSON.stringify(map)).toString("base64");
    const comment = `//# sourceMappingURL=data:application/json;base64,${inline}`;
    writeFileSync(join(folder, file), `${define(queue)}\n${comment}\n`);
  };
  chunk("chunk-1.mjs", "./jobs/report.ts", "one");
  chunk("chunk-2.mjs", "./jobs/report.ts", "two");
  chunk("chunk-3.mjs", "./jobs/other.ts", "three");
  const script = `import { Punctual } from "punctual";
    // As Next does: stacks are in the terms of the chunks.
    Error.prepareStackTrace = (error, frames) => [error, ...frames].join("\\n    at ");
    const jobs = new Punctual("sqlite::memory:", { logger: false });
    for (const file of ["./chunk-1.mjs", "./chunk-2.mjs", "./chunk-3.mjs"]) {
      try {
        (await import(file)).default(jobs);
        await null;
      } catch (error) { console.log(error.message); }
      console.log(jobs.definitions()[0].settings.queue);
    }
    await jobs.stop();`;
  const mapped = await runScript(script, { cwd: folder, env: { NODE_OPTIONS: "--enable-source-maps" } });
  expect(mapped.stdout).toMatch(
    /^one\ntwo\nJob "report" is defined already, at \S*jobs\/report\.ts:1\..*\ntwo\n$/,
  );
  const unmapped = await runScript(script, { cwd: folder });
  expect(unmapped.stdout).toMatch(/^one\nJob "report" is defined already, at \S*chunk-1\.mjs:1\./);
});
