import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { widthOf } from "../../src/cli/render/width.ts";
import type { Punctual } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { another, scene } from "./support/project-scene.ts";
import { Terminal } from "./support/terminal.ts";

/** A database, direct access to its tables, and a way to follow the commands that a hint names. */
function project() {
  const made = scene();
  const db = new DatabaseSync(join(made.cwd, "jobs.db"));
  onTestFinished(() => db.close());
  return { ...made, db, follow: (command: string) => made.call(...words(command)) };
}

/** The arguments behind `punctual`, as a shell would pass them. */
function words(command: string): string[] {
  const [program, ...args] = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare!,
  );
  expect(program).toBe("punctual");
  return args;
}

/** The last hint of a text that begins with this command. */
function hint(text: string, command: string): string {
  const line = text.split("\n").findLast((one) => one.includes(`punctual ${command}`));
  expect(line, `${command} in: ${text}`).toBeDefined();
  return line!.slice(line!.indexOf(`punctual ${command}`)).split(" · ")[0]!;
}

async function failed(jobs: Punctual, name: string) {
  jobs
    .schedule(name, () => {
      throw new Error("out of order");
    })
    .retries({ max: 5, base: 3600 });
  const run = await jobs.dispatch(name);
  await jobs.run();
  expect(await run.state()).toBe("scheduled");
  return run;
}

describe("a command that a hint names shows what the hint speaks of", () => {
  test("attempts that failed, of runs that are tried again", async () => {
    const { call, follow, jobs } = project();
    const run = await failed(jobs, "send it");
    for (let n = 0; n < 6; n++) await jobs.dispatch("send it").delay(60);
    const { stderr } = await call("status", "--check");
    const shown = await follow(hint(stderr, "show"));
    expect(shown.stdout).toContain("out of order");
    expect(hint(shown.stderr, "show")).toBe(`punctual show ${run.id}`);
    await failed(jobs, "other");
    const all = await follow(hint((await call("status")).stderr, "status"));
    expect(all.stdout).toMatch(/send it .*out of order/);
    expect(all.stdout).toMatch(/other .*out of order/);
  });

  test("a failed run behind many others", async () => {
    const { call, jobs } = project();
    jobs
      .schedule("send", (args: { fails?: boolean }) => {
        if (args.fails) throw new Error("out of order");
      })
      .concurrency(0);
    const run = await jobs.dispatch("send", { fails: true });
    await jobs.run();
    for (let n = 0; n < 6; n++) await jobs.dispatch("send").delay(60);
    expect(hint((await call("show", "send")).stderr, "show")).toBe(`punctual show ${run.id}`);
  });

  test("others like a run that failed long ago", async () => {
    const { call, db, follow, jobs } = project();
    jobs
      .schedule("send", () => {
        throw new Error("out of order");
      })
      .concurrency(0);
    const runs = await Promise.all([jobs.dispatch("send"), jobs.dispatch("send")]);
    await jobs.run();
    const list = async () =>
      (await follow(hint((await call("show", String(runs[0]!.id))).stderr, "list"))).stdout;
    const both = (text: string) => runs.every(({ id }) => new RegExp(`\\b${id}\\b`).test(text));
    expect(both(await list())).toBe(true);
    db.exec("update punctual_history set finished_at = finished_at - 40 * 86400000");
    expect(both(await list())).toBe(true);
  });

  test("the runs of a silent worker, started or not", async () => {
    const { call, db, follow, jobs, url } = project();
    jobs.schedule("send", () => {}).concurrency(0);
    await jobs.run();
    const at = Date.now();
    const row = (started: number | null) =>
      db.exec(
        `insert into punctual_runs (name, queue, lane, limited, priority, run_at, state, locked_by, locked_until, started_at, created_at, lease_token, attempts)
         values ('send', 'default', 'send', 0, 100, ${at}, 2, 'gone', ${at + 3_600_000}, ${started}, ${at}, 't', 1)`,
      );
    row(at);
    row(null);
    const working = another(url);
    const done = working.forever({ signals: false, queues: ["other"] });
    await eventually("a live worker", async () => (await jobs.status()).workers.length > 0);
    for (const args of [["status", "--check"], ["doctor"]]) {
      const { stdout, stderr } = await call(...args);
      const found = (await follow(hint(`${stdout}\n${stderr}`, "list"))).stdout;
      expect(found).toMatch(/^\S* +1 .*running/m);
      expect(found).toMatch(/^\S* +2 .*ready/m);
    }
    await working.stop();
    await done;
  });

  test("a schedule that is late", async () => {
    const { call, db, follow, jobs, url } = project();
    jobs.schedule("send", () => {}).cron("0 3 * * *");
    await jobs.run();
    const working = another(url);
    const done = working.forever({ signals: false });
    await eventually("a live worker", async () => (await jobs.status()).workers.length > 0);
    // Between the two times after which a tick is late and after which it is missed.
    db.exec(`update punctual_schedules set next_tick = ${Date.now() - 7000}`);
    db.exec(`update punctual_jobs set seen_at = ${Date.now()}`);
    const { stderr } = await call("status", "--check");
    expect((await follow(hint(stderr, "schedule list"))).stdout).toContain("send");
    await working.stop();
    await done;
  });

  test("a claimed run that keeps a job from being deleted", async () => {
    const { call, db, follow, jobs } = project();
    jobs.schedule("send", () => {}).concurrency(0);
    await jobs.run();
    const at = Date.now();
    db.exec(
      `insert into punctual_runs (name, queue, lane, limited, priority, run_at, state, locked_by, locked_until, created_at, lease_token, attempts)
       values ('send', 'default', 'send', 0, 100, ${at}, 2, 'gone', ${at + 3_600_000}, ${at}, 't', 1)`,
    );
    db.exec("update punctual_jobs set seen_at = 1000");
    const { stderr } = await call("prune", "--job", "send", "--yes");
    expect((await follow(hint(stderr, "list"))).stdout).toMatch(/^\S* +1 .*ready/m);
  });
});

describe("the last line of status without a worker", () => {
  const lastLine = async ({ call }: ReturnType<typeof project>) =>
    (await call("status")).stderr.trim().replace(/\s+/g, " ");

  test("counts runs of a dead worker once, also after their leases have ended", async () => {
    const one = project();
    one.jobs.schedule("send", () => {}).concurrency(0);
    await one.jobs.run();
    await one.jobs.dispatch("send");
    const insert = (until: number, started: number | null) =>
      one.db.exec(
        `insert into punctual_runs (name, queue, lane, limited, priority, run_at, state, locked_by, locked_until, started_at, created_at, lease_token, attempts)
         values ('send', 'default', 'send', 0, 100, 1000, 2, 'gone', ${until}, ${started}, 1000, 't', 1)`,
      );
    const soon = Date.now() + 3_600_000;
    insert(soon, 1000);
    insert(soon, null);
    insert(1000, 1000);
    insert(1000, null);
    expect(await lastLine(one)).toBe(
      "No worker is alive, and 1 run waits, 4 runs are held by a dead one. Start one: punctual work",
    );
    const terminal = new Terminal(["status", "--db", one.url], { cwd: one.cwd, columns: 80, rows: 24 });
    await terminal.ended;
    const lines = stripVTControlCharacters(terminal.written).split(/\r?\n/);
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
  });

  test("says how many of the waiting runs are paused", async () => {
    const one = project();
    for (const name of ["send", "bill", "mail"]) one.jobs.schedule(name, () => {}).concurrency(0);
    one.jobs.schedule("mass", () => {}).queue("bulk");
    await one.jobs.run();
    await one.jobs.pauseJob("send");
    await one.jobs.dispatch("send");
    expect(await lastLine(one)).toContain("1 run waits (paused).");
    await one.jobs.pauseQueue("bulk");
    await one.jobs.dispatch("mass");
    expect(await lastLine(one)).toContain("2 runs wait (all paused).");
    await one.jobs.dispatch("bill");
    const line = await lastLine(one);
    expect(line).toContain("3 runs wait (2 paused).");
    expect(line).toContain("2 paused with runs waiting. Details: punctual show mass");
  });
});
