import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";
import { write } from "./support/punctual.ts";

const JOBS = `
  import { Punctual } from "punctual";
  const jobs = new Punctual();
  jobs.schedule("report", () => {}).cron("0 3 * * *").concurrency(3);
`;

/** A project whose job a worker has synced, with direct access to the tables. */
async function project() {
  const made = scene();
  write(made.cwd, { "jobs/report.ts": JOBS });
  made.jobs
    .schedule("report", () => {})
    .cron("0 3 * * *")
    .concurrency(3);
  await made.jobs.run();
  const db = new DatabaseSync(join(made.cwd, "jobs.db"));
  return { ...made, db };
}

describe("doctor", () => {
  test("reports a healthy set-up, and the origin of each setting", async () => {
    const { call, jobs } = await project();
    const working = jobs.forever({ signals: false });
    const { code, stdout, stderr } = await call("doctor", "-v");
    expect(stdout).toMatch(/^\S+ node \d+\.\d+\.\d+ \(at least 22\.18\)$/m);
    expect(stdout).toMatch(/^ {4}database {2}sqlite .*jobs\.db {2}\(PUNCTUAL_DATABASE_URL\)$/m);
    expect(stdout).toMatch(/^\S+ 1 job of 1 file, 0 with errors$/m);
    expect(stdout).toMatch(/^\S+ database sqlite .*jobs\.db · 3\.\d+\.\d+ · \d+ ms$/m);
    expect(stdout).toMatch(/^\S+ schema \d+, nothing missing$/m);
    expect(stdout).toMatch(/^\S+ 1 worker, 10 slots$/m);
    expect(stderr).toContain("No problems found.");
    expect(code).toBe(0);
    expect((await call("doctor", "--check")).stdout).toBe("");
    await jobs.stop();
    await working;
  });

  test("warns and suggests fixes; --check exits with 4", async () => {
    const { call, callWith, jobs, db } = await project();
    await jobs.dispatch("report");
    await jobs.dispatch("report");
    db.exec("drop index punctual_runs_scheduled");
    db.exec(
      "update punctual_runs set state = 2, started_at = 1000, locked_until = 1000, locked_by = 'gone' where id = 1",
    );
    db.exec("update punctual_jobs set lim = 7, seen_at = 1000");
    db.exec("update punctual_schedules set next_tick = 1000");
    const { code, stdout } = await call("doctor", "--check", "--json");
    const { checks, errors, warnings } = JSON.parse(stdout);
    expect(checks.map((one: { level: string }) => one.level)).toEqual(Array(5).fill("warning"));
    const texts = checks.map(({ text, cure }: { text: string; cure: string }) => `${text} -> ${cure}`);
    expect(texts).toEqual([
      expect.stringMatching(
        /^punctual_runs_scheduled is missing -> create index punctual_runs_scheduled on /,
      ),
      "no worker is alive, with 1 run due -> punctual work",
      expect.stringMatching(
        /^1 lease ended up to \d+d ago, and no worker has reaped the runs -> punctual work$/,
      ),
      expect.stringMatching(/^cron "0 0 3 \* \* \*" of "report" is \d+d late -> punctual work$/),
      expect.stringContaining(
        'job "report" may run 3 at once according to the code here, but 7 according to the database',
      ),
    ]);
    expect([errors, warnings, code]).toEqual([0, 5, 4]);
    const plain = await callWith({ env: { LC_ALL: "C", LANG: "C" } }, "doctor");
    expect(plain.code).toBe(0);
    expect(plain.stdout).toMatch(/^\[! \] no worker is alive, with 1 run due {2}-> punctual work$/m);
    db.close();
  });

  test("compares the rates of the code and the config with those of the database", async () => {
    const { call, cwd, db } = await project();
    write(cwd, {
      "jobs/report.ts": JOBS.replace(".concurrency(3)", '.concurrency(3).rate(5, "1m", { perKey: 2 })'),
      "punctual.config.ts": 'export default { queues: { api: { rate: { limit: 9, per: "1s" } } } };',
    });
    db.exec("insert into punctual_queues (name, lim) values ('api', 0)");
    const { checks } = JSON.parse((await call("doctor", "--json")).stdout);
    const texts = checks.map(({ text }: { text: string }) => text);
    for (const text of [
      'job "report" may start 5 in 1 min according to the code here, but any number in any time according to the database',
      'job "report" may start 2 in 1 min for each key according to the code here, but any number in any time according to the database',
      'queue "api" may start 9 in 1 s according to the config, but any number in any time according to the database',
    ])
      expect(texts).toContain(text);
    db.close();
  });

  test("says that a count is a lower bound", async () => {
    const { call, db } = await project();
    db.exec(
      `insert into punctual_runs (name, queue, lane, limited, priority, run_at, state, created_at)
       with recursive series (n) as (select 1 union all select n + 1 from series where n < 10100)
       select 'report', 'default', 'report', 0, 100, 1000, 1, 1000 from series`,
    );
    const { checks } = JSON.parse((await call("doctor", "--json")).stdout);
    const texts = checks.map(({ text }: { text: string }) => text);
    expect(texts).toContainEqual(expect.stringMatching(/^no worker is alive, with [\d,]+ or more runs due$/));
    db.close();
  });

  test("names paused queues, and paused jobs with waiting runs", async () => {
    const { call, jobs } = await project();
    await jobs.pauseQueue("bulk mail", { by: "ana", reason: "the provider is down" });
    await jobs.pauseQueue("office", { for: "1h" });
    await jobs.pauseJob("report", { by: "bob" });
    await jobs.dispatch("report").queue("bulk mail").delay("1h");
    await jobs.dispatch("report").queue("bulk mail");
    const { code, stdout } = await call("doctor", "--check", "--json");
    const { checks } = JSON.parse(stdout);
    const texts = checks.map(({ text, cure }: { text: string; cure: string }) => `${text} -> ${cure}`);
    expect(texts).toContain(
      `queue "bulk mail" is paused by ana (the provider is down), with 1 run waiting -> punctual resume queue 'bulk mail'`,
    );
    expect(texts).toContainEqual(
      expect.stringMatching(/^queue "office" is paused until 20[\dT:.-]+Z -> punctual resume queue office$/),
    );
    expect(texts).toContain(
      'job "report" is paused by bob, with 2 runs waiting -> punctual resume job report',
    );
    expect(code).toBe(4);
  });

  test("names runs that are isolated after a crash", async () => {
    const { call, db } = await project();
    const at = Date.now();
    const row = (child: string, started: string) =>
      `insert into punctual_runs (name, queue, lane, limited, priority, run_at, state, crashes, isolated, locked_by, child, locked_until, started_at, created_at)
       values ('report', 'default', 'report', 0, 100, ${at}, 2, 1, 1, 'w1', ${child}, ${at + 60_000}, ${started}, ${at})`;
    db.exec(row("null", "null"));
    db.exec(row("'2:99'", String(at)));
    const { checks } = JSON.parse((await call("doctor", "--json")).stdout);
    const texts = checks.map(({ text, cure }: { text: string; cure?: string }) => `${text} -> ${cure}`);
    expect(texts).toContain('run 1 of "report" has crashed, and waits to be alone on w1 -> punctual show 1');
    expect(texts).toContain('run 2 of "report" has crashed, and is alone on w1, child 2 -> punctual show 2');
  });

  test("names limits that no process has defined", async () => {
    const { call, jobs } = await project();
    jobs.schedule("sum", () => {}).under("openai");
    await jobs.run();
    const { checks } = JSON.parse((await call("doctor", "--json")).stdout);
    expect(checks).toContainEqual(
      expect.objectContaining({
        level: "warning",
        text: 'no process has defined the limit "openai", and no run of "sum" starts',
      }),
    );
    jobs.limit("openai", { concurrency: 2 });
    await jobs.run();
    expect((await call("doctor", "--json")).stdout).not.toContain("openai");
  });

  test("names excluded queues, and reports that no worker ticks", async () => {
    const { call, jobs } = await project();
    const working = jobs.forever({ exceptQueues: ["bulk"], schedules: false, signals: false });
    await new Promise((started) => jobs.on("worker.started", started));
    await jobs.dispatch("report").queue("bulk");
    const { checks } = JSON.parse((await call("doctor", "--json")).stdout);
    const texts = checks.map(({ text, cure }: { text: string; cure: string }) => `${text} -> ${cure}`);
    expect(texts).toContain(
      'no worker serves the queue "bulk", where 1 run waits -> punctual work --queues bulk',
    );
    expect(texts).toContain(
      "no worker ticks schedules: all were started with --no-schedule -> punctual work",
    );
    await jobs.stop();
    await working;
  });

  test("exits with 6 for a job file that cannot be loaded, after all other checks", async () => {
    const { call, cwd } = await project();
    write(cwd, { "jobs/broken.ts": "enum Colour { Red }\nexport default Colour;\n" });
    const { code, stdout } = await call("doctor");
    expect(stdout).toMatch(/^\S+ .*jobs\/broken\.ts/m);
    expect(stdout).toMatch(/^\S+ schema \d+, nothing missing$/m);
    expect(code).toBe(6);
  });

  test("exits with 6 for two jobs of one name", async () => {
    const { call, cwd } = await project();
    write(cwd, { "jobs/again.ts": JOBS });
    const { code, stdout } = await call("doctor");
    expect(stdout).toContain('"report"');
    expect(code).toBe(6);
  });

  test("exits with 6 for a config that cannot be read", async () => {
    const { call, cwd } = await project();
    write(cwd, { "punctual.config.ts": "export default { parallell: 3 };\n" });
    const { code, stdout } = await call("doctor");
    expect(stdout).toContain("parallell");
    expect(code).toBe(6);
  });

  test("reports missing tables, newer tables, and a missing database", async () => {
    const { callWith, call, db, cwd } = await project();
    const empty = await callWith({ env: { PUNCTUAL_DATABASE_URL: "sqlite:./empty.db" } }, "doctor");
    expect(empty.stdout).toMatch(
      /empty\.db does not exist yet: it is created on first use\s+\S+ punctual install/,
    );
    expect(empty.code).toBe(0);
    new DatabaseSync(join(cwd, "empty.db")).close();
    write(cwd, { "empty.db": "" });
    const bare = await callWith({ env: { PUNCTUAL_DATABASE_URL: "sqlite:./empty.db" } }, "doctor");
    expect(bare.stdout).toMatch(/the tables are missing {2}\S+ punctual install/);
    expect(bare.code).toBe(5);
    db.exec("insert into punctual_migrations (number, applied_at) values (999, 0)");
    const newer = await call("doctor");
    expect(newer.stdout).toContain("schema 999 needs newer code");
    expect(newer.code).toBe(7);
    const away = await call("doctor", "--db", "postgres://nobody@127.0.0.1:1/none");
    expect(away.stdout).toContain("ECONNREFUSED");
    expect(away.code).toBe(5);
    db.close();
  });

  test("refuses unknown options", async () => {
    expect(await scene().call("doctor", "--repair")).toMatchObject({ code: 2, stdout: "" });
  });
});
