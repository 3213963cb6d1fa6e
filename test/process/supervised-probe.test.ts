import { expect, test } from "vitest";
import { runScript } from "../api/support/child.ts";
import { freePort } from "../servers/free-port.ts";

test("only the parent listens in a program that starts a probe and then supervises", async () => {
  const port = await freePort();
  const { code, stdout, stderr } = await runScript(
    `import { Punctual, startProbe } from "punctual";
    const child = process.env.PUNCTUAL_CHILD;
    const jobs = new Punctual("sqlite:./supervised.db", { logger: false });
    const task = jobs.schedule("task", async (_, run) => { run.log("ran"); });
    const probe = await startProbe(jobs, { port: ${port} });
    console.log(child ? "child" : "parent", probe.port === ${port}, probe.url);
    if (!child) {
      jobs.on("run.completed", async () => {
        console.log("ready", (await fetch(probe.url + "/readyz")).status);
        console.log((await (await fetch(probe.url + "/metrics")).text()).match(/^punctual_attempts_total.*$/m)[0]);
        await jobs.stop();
      });
      await task.dispatch();
    }
    await jobs.supervise({ workers: 1 });
    await probe.stop();
    console.log("after supervise() in the", child ? "child" : "parent");`,
  );
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout.trim().split("\n").sort()).toEqual([
    "after supervise() in the child",
    "after supervise() in the parent",
    `child true http://127.0.0.1:${port}`,
    `parent true http://127.0.0.1:${port}`,
    'punctual_attempts_total{job="task",queue="default",outcome="completed"} 1',
    "ready 200",
  ]);
}, 60_000);
