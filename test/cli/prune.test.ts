import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { another, scene } from "./support/project-scene.ts";
import { start, write } from "./support/punctual.ts";

/** Completed runs and one failed, all of them finished long ago and kept for ever. */
async function withHistory(count: number) {
  const made = scene();
  made.jobs.schedule("fine", () => {}).concurrency(0);
  made.jobs.schedule("faulty", () => {
    throw new Error("no");
  });
  await made.jobs.dispatch("fine", { text: "x".repeat(1000) });
  await made.jobs.dispatch("faulty");
  await made.jobs.run();
  const db = new DatabaseSync(join(made.cwd, "jobs.db"));
  const columns = (db.prepare("pragma table_info(punctual_history)").all() as { name: string }[])
    .map(({ name }) => name)
    .filter((name) => name !== "id")
    .join(", ");
  db.exec(
    `with recursive more(n) as (select 1000 union all select n + 1 from more where n < ${998 + count})
     insert into punctual_history (id, ${columns}) select n, ${columns} from punctual_history, more where state = 3`,
  );
  db.exec("update punctual_history set finished_at = 1000, keep_until = null");
  const left = () => (db.prepare("select count(*) as n from punctual_history").get() as { n: number }).n;
  return { ...made, db, left };
}

describe("prune", () => {
  test("prints the counts, deletes, and shrinks the file", async () => {
    const { call, left, cwd, db } = await withHistory(3000);
    const dry = await call("prune", "--older-than", "14d", "--dry-run", "--json");
    expect(JSON.parse(dry.stdout)).toEqual({
      v: 1,
      dryRun: true,
      prunable: { history: 3001, jobs: 0, orphans: 0, workers: 0 },
      capped: false,
    });
    expect(left()).toBe(3001);
    expect((await call("prune")).stdout).toMatch(/^0 finished runs, .* deleted\n$/);
    const some = await call("prune", "--older-than", "14d", "--state", "completed", "--batch", "500");
    expect(some.stdout).toBe("3,000 finished runs, 0 waiting runs, 0 jobs, 0 dead workers deleted\n");
    expect(left()).toBe(1);
    db.close();
    const before = statSync(join(cwd, "jobs.db")).size;
    const rest = await call("prune", "--older-than", "14d", "--vacuum", "--json");
    expect(JSON.parse(rest.stdout)).toMatchObject({
      deleted: { history: 1 },
      interrupted: false,
      freedBytes: expect.any(Number),
    });
    expect(statSync(join(cwd, "jobs.db")).size).toBeLessThan(before / 2);
  });

  test("interrupted by a signal, stops after the batch, prints the counts, and exits with 130", async () => {
    const { cwd, url, left, db } = await withHistory(20_000);
    const pruning = start(["prune", "--older-than", "1d", "--batch", "1", "--json"], {
      cwd,
      env: { PUNCTUAL_DATABASE_URL: url },
    });
    await pruning.sees(() => left() < 20_001);
    pruning.child.kill("SIGINT");
    const { code, stdout } = await pruning.ended;
    expect(code).toBe(130);
    const { deleted, interrupted } = JSON.parse(stdout);
    expect(interrupted).toBe(true);
    expect(left()).toBe(20_001 - deleted.history);
    expect(left()).toBeGreaterThan(0);
    db.close();
  });

  test("keeps the newest of each job", async () => {
    const { call, left, db } = await withHistory(300);
    const dry = await call("prune", "--keep", "100", "--dry-run");
    expect(dry.stdout).toMatch(/^200 finished runs, .* would be deleted\n$/);
    expect((await call("prune", "--keep", "100", "--state", "failed")).stdout).toMatch(/^0 finished runs/);
    expect((await call("prune", "--keep", "100", "--batch", "30")).stdout).toMatch(/^200 finished runs/);
    expect(left()).toBe(101);
    const newest = db.prepare("select min(id) as id from punctual_history where state = 3").get();
    expect(newest).toEqual({ id: 1199 });
    db.exec("update punctual_history set finished_at = 9e15 where id >= 1250");
    expect((await call("prune", "--keep", "10", "--older-than", "1d")).stdout).toMatch(/^51 finished runs/);
    expect((await call("prune", "--keep", "0")).stdout).toMatch(/^50 finished runs/);
    db.close();
  });

  test("jobs that no worker has defined for the given number of days", async () => {
    const { call, url, db } = await withHistory(1);
    db.exec("update punctual_jobs set seen_at = 1000, created_at = 1000 where name = 'faulty'");
    expect((await call("prune", "--days", "7")).stdout).toContain(", 1 job, ");
    expect((await another(url).status()).jobs.map(({ name }) => name)).toEqual(["fine"]);
    db.close();
  });

  test("deletes one job by its name, or says why it was not deleted", async () => {
    const { call, jobs, db } = await withHistory(1);
    await jobs.dispatch("faulty");
    const young = await call("prune", "--job", "faulty");
    expect(young).toMatchObject({ code: 7, stdout: "" });
    expect(young.stderr).toContain('The job "faulty" was defined within the last 2m, so it was not deleted.');
    db.exec("update punctual_jobs set seen_at = seen_at - 180000");
    expect((await call("prune", "--job", "faulty", "--dry-run")).stdout).toBe(
      "0 finished runs, 1 waiting run, 1 job, 0 dead workers would be deleted\n",
    );
    const typo = await call("prune", "--job", "fauly");
    expect(typo).toMatchObject({ code: 3, stdout: "" });
    expect(typo.stderr).toContain('Did you mean "faulty"?');
    db.exec(
      "update punctual_runs set state = 2, started_at = 1, locked_until = 9e15, lease_token = 'x', locked_by = 'w'",
    );
    const busy = await call("prune", "--job", "faulty");
    expect(busy).toMatchObject({ code: 7, stdout: "" });
    expect(busy.stderr).toContain("punctual list --where 'job:faulty state:ready,running'");
    db.exec("update punctual_runs set state = 1, locked_until = null, lease_token = null, locked_by = null");
    const unasked = await call("prune", "--job", "faulty");
    expect(unasked).toMatchObject({ code: 7, stdout: "" });
    expect(unasked.stderr).toContain('Delete the job "faulty" and 1 waiting run? There is no terminal');
    expect((await call("prune", "--job", "faulty", "--yes")).stdout).toBe(
      "0 finished runs, 1 waiting run, 1 job, 0 dead workers deleted\n",
    );
    expect((await call("status", "--json")).stdout).not.toContain("faulty");
    db.close();
  });

  test("a pruned job is declared again by a dispatch or a retry", async () => {
    const { call, db, cwd } = await withHistory(1);
    write(cwd, {
      "jobs/faulty.ts": 'import { Job } from "punctual";\nJob.schedule("faulty", () => {}).queue("mail");\n',
    });
    const forget = async () => {
      db.exec("update punctual_jobs set seen_at = seen_at - 180000, created_at = created_at - 180000");
      expect((await call("prune", "--job", "faulty", "--yes")).code).toBe(0);
      expect((await call("show", "faulty")).code).toBe(3);
    };
    await forget();
    const [failed] = db.prepare("select id from punctual_history where name = 'faulty'").all();
    expect((await call("retry", String(failed!.id))).code).toBe(0);
    expect((await call("show", "faulty")).stdout).toContain("no worker has defined it yet");

    const young = await call("prune", "--job", "faulty");
    expect(young.code).toBe(7);
    expect(young.stderr).toContain(
      "Try again 2m later, or withdraw its runs: punctual cancel --where job:faulty",
    );
    await forget();

    expect((await call("dispatch", "faulty")).code).toBe(0);
    expect((await call("show", "faulty")).stdout).toMatch(/Queue +mail/);
    const { jobs } = JSON.parse((await call("status", "--json")).stdout);
    expect(jobs).toMatchObject([{ name: "faulty", waiting: 1, seenAt: null }, { name: "fine" }]);
    db.close();
  });

  test.each([
    [["--older-than", "old"], 2, "Expected a duration as seconds or text"],
    [["--state", "completed,faild"], 2, 'got "faild". Did you mean "failed"?'],
    [["--days", "99999999999"], 2, "Expected a whole number of at most 365,000."],
    [["--days", "0"], 2, "Expected a whole number of at least 1."],
    [["--job", "fine", "--keep", "1"], 2, "Leave keep out."],
    [["--batch", "many"], 2, "Expected a whole number of at least 1."],
    [["--keep", "-1"], 2, "Expected a whole number of at least 0."],
    [["--keep", "few"], 2, "Expected a whole number of at least 0."],
    [["--keep", "99999999999"], 2, "Expected a whole number of at most 2,147,483,647."],
    [["--vacuum", "--db", "sqlite::memory:"], 2, "--vacuum is for a SQLite file"],
    [["--db", "sqlite:./none.db"], 5, "There is no database"],
  ])("%j exits with %d", async (args, expected, message) => {
    const { code, stdout, stderr } = await (await withHistory(1)).call("prune", ...args);
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([expected, ""]);
  });
});
