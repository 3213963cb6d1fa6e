import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { jobFiles } from "./support/job-files.ts";
import { project } from "./support/punctual.ts";
import { Terminal } from "./support/terminal.ts";

/** Removing its row is the last action of a worker. */
async function workersIn(cwd: string): Promise<number> {
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  const { workers } = await jobs.status();
  await jobs.stop();
  return workers.length;
}

test("on a terminal each run has a line that fills the width, and none is longer", async () => {
  const cwd = project(jobFiles);
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  for (const name of ["ok", "shaky"]) await jobs.declare(name).dispatch();
  await jobs.stop();
  const terminal = new Terminal(["work", "--until-empty", "--no-color"], { cwd, columns: 80, rows: 24 });
  expect(await terminal.ended).toBe(0);
  const lines = terminal.written.split("\r\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}ok +#\d+ \.{3,} +RUNNING$/),
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}ok +#\d+ \.{3,} +\d+ms {2}DONE$/),
      expect.stringMatching(/^\d\d:\d\d:\d\d {2}shaky +#\d+ \.{3,} +\d+ms {2}FAIL$/),
      "          Error: connect ETIMEDOUT → retry in 1h00m",
    ]),
  );
  for (const line of lines.filter((one) => /^\d\d:/.test(one) || one.startsWith("punctual "))) {
    expect(line.length, line).toBeLessThanOrEqual(80);
  }
});

test("closing the terminal window drains the worker", async () => {
  const cwd = project(jobFiles);
  const terminal = new Terminal(["work"], { cwd, columns: 80, rows: 24 });
  await terminal.shows("Ctrl-C to drain");
  await eventually("a worker in the database", async () => (await workersIn(cwd)) === 1);
  terminal.vanish();
  await eventually("the end of the worker", async () => (await workersIn(cwd)) === 0);
});
