import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { project, start } from "./support/punctual.ts";

const files = {
  "punctual.config.ts": 'export default { database: "sqlite:./jobs.db" };\n',
  "jobs/tell.ts": `
import { Job } from "punctual";
Job.schedule("tell", () => { console.error("pid", process.pid, "options", process.execArgv.join(" "), "."); });
`,
};

/** What the job says of the process in which it ran. */
async function told(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ pid: number; text: string }> {
  const cwd = project(files);
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  await jobs.declare("tell").dispatch();
  await jobs.stop();
  const working = start(["work", ...args], { cwd, env });
  await working.shows(/pid \d+ options .*\./);
  working.child.kill("SIGTERM");
  expect((await working.ended).code).toBe(0);
  return { pid: working.child.pid!, text: working.stderr };
}

test("work bounds the young generation, and keeps its process id", async () => {
  const { pid, text } = await told([]);
  expect(text).toMatch(new RegExp(`pid ${pid} options --max-semi-space-size=8\\b`));
});

test("a child process gets the option once", async () => {
  const { text } = await told(["--workers", "1"]);
  expect(text.match(/semi-space-size=8/g)).toHaveLength(1);
});

test("a size that the environment gives stays", async () => {
  const { text } = await told([], { NODE_OPTIONS: "--max-semi-space-size=16" });
  expect(text).toMatch(/options +\./);
});
