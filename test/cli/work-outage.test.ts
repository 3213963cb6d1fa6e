import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { onOwnServer } from "../faults/support/kinds.ts";
import { startServer } from "../servers/start.ts";
import { STACK_TRACE } from "../support/start-child.ts";
import { project, run, start, write } from "./support/punctual.ts";

const job = `
import { existsSync, writeFileSync } from "node:fs";
import { Job } from "punctual";
Job.schedule("import", async (_: unknown, run) => {
  writeFileSync("started-" + run.id, "");
  while (!existsSync("go")) await new Promise((later) => setTimeout(later, 20));
  writeFileSync("ended-" + run.id, "");
}).concurrency(2);
`;

onOwnServer((kind) => {
  test("work that is stopped while the server is down lists unwritten outcomes, and exits with 5", async () => {
    const server = await startServer(kind);
    try {
      const cwd = project({
        "jobs/import.ts": job,
        "punctual.config.ts": `export default { database: "${server.url}" };\n`,
      });
      expect((await run(["install"], { cwd })).code).toBe(0);
      const working = start(["work", "--no-jsonl", "--drain-timeout", "1s"], { cwd });
      await working.shows("Ctrl-C to drain");
      for (const _ of [1, 2]) await run(["dispatch", "import"], { cwd });
      const there = (file: string) => () => existsSync(join(cwd, file));
      for (const id of [1, 2]) await working.sees(there(`started-${id}`));
      await server.kill();
      write(cwd, { go: "" });
      for (const id of [1, 2]) await working.sees(there(`ended-${id}`));
      working.child.kill("SIGTERM");
      const { code, stdout, stderr } = await working.ended;
      expect(stderr).toContain("stopped while the database was unavailable. 2 not written. bye\n");
      expect(stderr).toMatch(
        /^punctual: The outcomes of 2 runs were not written, because the database did not answer: run [12] of "import", run [12] of "import"\. They run again when their leases end, in at most 60 s\.$/m,
      );
      expect(stdout).toMatch(/LOST import #1 the database did not answer; its outcome was not written/);
      expect(stderr).not.toMatch(/drained/);
      expect(stderr).not.toMatch(STACK_TRACE);
      expect(code).toBe(5);

      await server.start();
      const { run: left } = JSON.parse((await run(["show", "1", "--json"], { cwd })).stdout);
      expect(left).toMatchObject({ state: "running", attempts: 1 });
    } finally {
      await server.stop();
    }
  });
});
