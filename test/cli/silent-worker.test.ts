import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { widthOf } from "../../src/cli/render/width.ts";
import { scene } from "./support/project-scene.ts";
import { project, run, start } from "./support/punctual.ts";
import { Terminal } from "./support/terminal.ts";

const files = {
  "punctual.config.ts": `export default { database: "sqlite:./jobs.db" };\n`,
  "jobs/hang.ts": `
import { Job } from "punctual";
Job.schedule("hang", () => new Promise((end) => setTimeout(end, 600_000))).lease("10h");
`,
};

/** The text without the line breaks that wrap its sentences. */
const unwrapped = (text: string) => text.replace(/\s+/g, " ");

/** A worker that was killed during run 1, long enough ago to be noticed. */
async function killed(how: "SIGKILL" | "SIGSTOP") {
  const cwd = project(files);
  const call = (...args: string[]) => run(args, { cwd });
  const working = start(["work", "--no-jsonl"], { cwd });
  await working.shows("Ctrl-C to drain");
  await call("dispatch", "hang");
  const db = new DatabaseSync(join(cwd, "jobs.db"));
  const isStarted = "select 1 from punctual_runs where state = 2 and started_at is not null";
  await working.sees(() => db.prepare(isStarted).get() !== undefined);
  working.child.kill(how);
  if (how === "SIGKILL") await working.ended;
  // Without the mark of its process, as on another host: other workers cannot tell that the process has ended.
  db.exec("update punctual_workers set seen_at = seen_at - 10800000, facts = null");
  return { call, cwd, db, name: `${hostname()}:${working.child.pid}` };
}

test("doctor, status and show name the run of a killed worker, and when it is reaped", async () => {
  const { call, cwd, db, name } = await killed("SIGKILL");
  const holds = new RegExp(
    `${name} has given no sign of life for 3 h and holds run 1 of "hang": its lease ends in 10 h, and no worker is alive to take it back`,
  );
  const check = await call("status", "--check");
  expect(check.code).toBe(4);
  expect(check.stderr).toMatch(/^stalled:$/m);
  expect(unwrapped(check.stderr)).toMatch(holds);
  expect(check.stderr).toMatch(/^ {2}→ punctual work$/m);
  expect(unwrapped((await call("status", "--check", "hang")).stderr)).toMatch(holds);
  const doctor = await call("doctor");
  expect(unwrapped(doctor.stdout)).toMatch(new RegExp(`${holds.source} → punctual work `));
  expect(doctor.stdout).toMatch(/^ {2}→ punctual work$/m);
  // Once: not again as a row that a dead worker left.
  expect(doctor.stdout).not.toContain("died and left");
  const show = (await call("show", "1")).stdout;
  expect(unwrapped(show)).toMatch(new RegExp(`on worker ${name}\\.`));
  expect(unwrapped(show)).toMatch(
    /Its worker has given no sign of life for 3 h: its lease ends in 10 h, and no other/,
  );
  expect(show).toMatch(new RegExp(`^ {2}Worker +${name}$`, "m"));
  expect(doctor.stdout).not.toContain("nothing waits");
  const { stdout: status, stderr: foot } = await call("status");
  expect(foot).toContain("No worker is alive, and 1 run is held by a dead one. Start one: punctual work");
  expect(status).toMatch(new RegExp(`hang .* ${name} 9h .*no sign of life from ${name} for 3h`));

  const other = start(["work", "--no-jsonl", "--queues", "other"], { cwd });
  await other.shows("Ctrl-C to drain");
  const served = await call("status", "--check");
  expect(served.code).toBe(4);
  expect(served.stderr).toMatch(/^degraded:$/m);
  expect(unwrapped(served.stderr)).toMatch(/its lease ends in 10 h, then another worker takes it back\. /);
  expect(served.stderr).toMatch(/^ {2}→ punctual show 1$/m);

  db.exec(`delete from punctual_workers where pid <> ${other.child.pid}`);
  expect((await call("status")).stdout).toMatch(/hang .* a dead worker 9h .*a dead worker holds it/);
  expect((await call("show", "1")).stdout).toMatch(/^ {2}Worker +a dead worker$/m);
  expect((await call("status", "--check")).stderr).toMatch(/^A dead worker holds run 1 of "hang": /m);
  db.close();
});

test.each([["doctor"], ["status", "--check"], ["status"], ["show", "1"]])(
  "%s %s fits on a terminal of 80 columns",
  async (...args) => {
    const { cwd, db } = await killed("SIGKILL");
    const terminal = new Terminal(args, { cwd, columns: 80, rows: 24 });
    await terminal.ended;
    db.close();
    const lines = stripVTControlCharacters(terminal.written).split(/\r?\n/);
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
    // A long host name leaves the table of `status` little room for its last column; its last line says it too.
    expect(lines.join(" ").replace(/ +/g, " ")).toMatch(/no sign of life|1 run is held by a dead one/);
  },
);

test("status --check and doctor report a retry that is due, while no worker is alive", async () => {
  const { call, cwd, jobs } = scene();
  jobs
    .schedule("flaky", () => Promise.reject(new Error("down")))
    .retries({ max: 3, base: 60, jitter: "none" });
  const retried = await jobs.dispatch("flaky");
  await jobs.run();
  expect(await retried.state()).toBe("scheduled");
  const db = new DatabaseSync(join(cwd, "jobs.db"));
  db.exec("update punctual_runs set run_at = run_at - 300000");
  db.exec("update punctual_jobs set fail_count = 0");
  db.close();
  const check = await call("status", "--check");
  expect([check.code, check.stderr]).toEqual([4, expect.stringMatching(/^stalled:\n/)]);
  expect(check.stderr).toMatch(/^default: 1 waiting for 4 min, no worker is alive\.$/m);
  expect((await call("doctor")).stdout).toMatch(/no worker is alive, with 1 run due {2}→ punctual work$/m);
  const shown = (await call("show", "1")).stdout;
  expect(shown).toMatch(/It has been due for 4 min\. No worker is alive\. It waits for attempt 2\./);
  expect((await call("list", "queues")).stdout).toMatch(/! default .* 1 \(1 due\)/);
});

test("doctor, status and show name a frozen worker", async () => {
  const { call, db, name } = await killed("SIGSTOP");
  const { code, stderr } = await call("status", "--check");
  expect(unwrapped(stderr)).toMatch(
    new RegExp(`${name} has given no sign of life for 3 h and holds run 1 of "hang"`),
  );
  expect(code).toBe(4);
  db.close();
});
