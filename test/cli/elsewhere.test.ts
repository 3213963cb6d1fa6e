import { join } from "node:path";
import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { project, run } from "./support/punctual.ts";

class CliController {
  index1(): void {}
}

test("a method that another process dispatched runs if a job file exports the class", async () => {
  const cwd = project({
    "jobs/controller.ts": `export class CliController { index1({ n }) { console.error("[index1 " + n + "]"); } }`,
  });
  const web = new Punctual(`sqlite:${join(cwd, "punctual.db")}`, { logger: false });
  await web.register([CliController, "index1"], { n: 7 });
  await web.stop();
  const { stdout, stderr } = await run(["collect"], { cwd });
  expect(stderr).toContain("[index1 7]");
  expect(stderr).not.toContain("has no jobs");
  expect(stdout).toContain("1 completed");
});

test("show does not recommend a retry for a run whose function is gone", async () => {
  const cwd = project({ "jobs/a.ts": `import { Job } from "punctual"; Job.schedule("other", () => {});` });
  const web = new Punctual(`sqlite:${join(cwd, "punctual.db")}`, { logger: false });
  const { id } = await web.dispatch("upload 7", () => {}).delay(60);
  await web.stop();
  const { stdout, stderr } = await run(["show", String(id)], { cwd });
  expect(stdout).toContain("HANDLER_GONE");
  expect(stdout + stderr).not.toMatch(/punctual retry/);
  expect(stderr).toContain("It cannot be retried: its function existed only in the process that has ended.");
});
