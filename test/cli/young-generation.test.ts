import { join } from "node:path";
import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { project, start } from "./support/punctual.ts";

const files = {
  "punctual.config.ts": 'export default { database: "sqlite:./jobs.db" };\n',
  "jobs/tell.ts": `
import { Job } from "punctual";
Job.schedule("tell", () => { console.error("pid", process.pid, "options", process.execArgv.join(" "), "."); });
`,
  "worker.ts": `
import { Job } from "punctual";
import "./jobs/tell.ts";
await Job.supervise({ workers: 1 });
`,
};

/** The job's report on its process. */
async function told(
  args: string[],
  { env = {}, program }: { env?: Record<string, string>; program?: string } = {},
): Promise<{ pid: number; text: string }> {
  const cwd = project(files);
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  await jobs.declare("tell").dispatch();
  await jobs.stop();
  const working = start(args, { cwd, env, ...(program && { program: join(cwd, program) }) });
  await working.shows(/pid \d+ options .*\./);
  working.child.kill("SIGTERM");
  expect((await working.ended).code).toBe(0);
  return { pid: working.child.pid!, text: working.stderr };
}

test("work bounds the young generation, and keeps its process id", async () => {
  const { pid, text } = await told(["work"]);
  expect(text).toMatch(new RegExp(`pid ${pid} options --max-semi-space-size=8\\b`));
});

test("a child process gets the option once", async () => {
  const { text } = await told(["work", "--workers", "1"]);
  expect(text.match(/semi-space-size=8/g)).toHaveLength(1);
});

test("supervise() bounds it in the child processes of any program", async () => {
  const { pid, text } = await told([], { program: "worker.ts" });
  expect(text).toMatch(/options --max-semi-space-size=8\b/);
  expect(text).not.toContain(`pid ${pid} `);
});

test("a size from the environment is kept", async () => {
  const { text } = await told(["work"], { env: { NODE_OPTIONS: "--max-semi-space-size=16" } });
  expect(text).toMatch(/options +\./);
});
