import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { RunContext } from "../../src/index.ts";
import { heard, listen, type Opened, open } from "./support/instance.ts";

interface Scene extends Opened {
  db: DatabaseSync;
  /** The logged messages, without the debug level. */
  said: string[];
  starts: number[];
  /** Counts the start of a run; the handler's first line. */
  begin(run: RunContext): void;
}

async function scene(): Promise<Scene> {
  const db = new DatabaseSync(":memory:");
  const said: string[] = [];
  const say = (level: string) => (text: string) => void said.push(`${level}: ${text}`);
  const logger = { debug: () => {}, info: say("info"), warn: say("warn"), error: say("error") };
  const one = open({ logger }, db);
  await one.jobs.install();
  const starts: number[] = [];
  return { ...one, db, said, starts, begin: (run) => void starts.push(run.id) };
}

/** From now on no page can be added to the database, as on a full disk. */
function fill(db: DatabaseSync): () => void {
  const [{ page_count: pages }] = db.prepare("pragma page_count").all() as [{ page_count: number }];
  db.exec(`pragma max_page_count = ${pages}`);
  return () => db.exec("pragma max_page_count = 1000000");
}

/** Refuses each insert into this table that satisfies the condition. */
function refuse(db: DatabaseSync, table: string, when = "true"): () => void {
  db.exec(`create trigger refuse before insert on ${table} when ${when}
    begin select raise(abort, 'not in my database'); end`);
  return () => db.exec("drop trigger refuse");
}

const large = "x".repeat(200_000);

describe("an outcome", () => {
  test("waits while the database is full, and its handler runs once", async () => {
    const { jobs, db, clock, errors, starts, begin } = await scene();
    let free = () => {};
    jobs
      .schedule("task", (_args, run) => {
        begin(run);
        free = fill(db);
        return large;
      })
      .lease(2);
    void jobs.forever({ signals: false });
    await heard(jobs, "worker.started");
    const run = await jobs.dispatch("task");
    await clock.advance(25);
    expect(await run.state()).toBe("running");
    expect(errors.splice(0)).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ error: expect.objectContaining({ code: "DATABASE_FAILING" }) }),
      ]),
    );
    free();
    await clock.advance(5);
    expect(await jobs.find(run.id)).toMatchObject({ state: "completed", attempts: 1, crashes: 0 });
    expect(starts).toEqual([run.id]);
    expect(await run.wait()).toHaveLength(large.length);
    errors.splice(0);
  });

  test("is sent again while a trigger refuses it, without delaying others", async () => {
    const { jobs, db, clock, errors, starts, begin } = await scene();
    for (const name of ["good", "bad"]) jobs.schedule(name, (_args, run) => begin(run)).concurrency(0);
    const allow = refuse(db, "punctual_history", "new.name = 'bad'");
    const bad = await jobs.dispatch("bad");
    const good = await Promise.all(Array.from({ length: 5 }, () => jobs.dispatch("good")));
    const pass = jobs.run();
    await clock.advance(300);
    expect(await Promise.all(good.map((run) => run.state()))).toEqual(Array(5).fill("completed"));
    expect(await bad.state()).toBe("running");
    allow();
    await clock.advance(3);
    expect(await pass).toBe(6);
    expect(await jobs.find(bad.id)).toMatchObject({ state: "completed", attempts: 1, crashes: 0 });
    expect(starts).toHaveLength(6);
    expect(errors.splice(0)).toMatchObject([
      {
        during: `writing the outcome of run ${bad.id}, which is sent again until it is written`,
        error: { code: "DATABASE", message: expect.stringContaining("not in my database") },
      },
    ]);
  });

  test("with invalid data is written without them", async () => {
    const { jobs, db, errors } = await scene();
    db.exec("create unique index one_result on punctual_history (result) where result is not null");
    jobs.schedule("task", () => "the same").concurrency(0);
    const runs = await Promise.all(Array.from({ length: 3 }, () => jobs.dispatch("task")));
    expect(await jobs.run()).toBe(3);
    expect(await Promise.all(runs.map((run) => run.state()))).toEqual(Array(3).fill("completed"));
    const results = await Promise.all(runs.map((run) => run.wait()));
    expect(results.filter((result) => result === "the same")).toHaveLength(1);
    const codes = errors.splice(0).map(({ error }) => (error as { code: string }).code);
    expect(codes).toEqual(["DATA_REJECTED", "DATA_REJECTED"]);
  });

  test("is written although the claim of the same exchange is refused", async () => {
    const { jobs, db, clock, errors } = await scene();
    let end = () => {};
    jobs.schedule("first", () => new Promise<void>((resolve) => (end = resolve)));
    jobs.schedule("second", () => {});
    void jobs.forever({ signals: false });
    await heard(jobs, "worker.started");
    const first = await jobs.dispatch("first");
    await clock.advance(1);
    db.exec(`create trigger refuse before update on punctual_runs when new.name = 'second' and new.state = 2
      begin select raise(abort, 'not in my database'); end`);
    const second = await jobs.dispatch("second");
    await clock.advance(10);
    end();
    await clock.advance(5);
    expect([await first.state(), await second.state()]).toEqual(["completed", "ready"]);
    db.exec("drop trigger refuse");
    await clock.advance(5);
    expect(await second.state()).toBe("completed");
    errors.splice(0);
  });
});

describe("an outage", () => {
  test("is logged once when it begins and once when it ends, with its duration", async () => {
    const { jobs, db, clock, said, errors } = await scene();
    const began = listen(jobs, "database.unavailable");
    const ended = listen(jobs, "database.available");
    let free = () => {};
    jobs.schedule("task", (_args, run) => {
      run.log("about to fill it");
      free = fill(db);
      return large;
    });
    void jobs.forever({ signals: false });
    await heard(jobs, "worker.started");
    said.splice(0);
    await jobs.dispatch("task");
    await clock.advance(300);
    expect(said).toEqual([expect.stringMatching(/^error: the database is not available .*full/)]);
    expect(began).toHaveLength(1);
    expect(ended).toEqual([]);
    free();
    await clock.advance(5);
    expect(said.slice(1)).toEqual([
      expect.stringMatching(/^info: the database is available again, after 30[0-9.]+ s$/),
    ]);
    expect(ended).toEqual([{ duration: expect.closeTo(300_000, -4) }]);
    errors.splice(0);
  });

  test("prevents a worker from reaping until live workers had time to renew their leases", async () => {
    const { jobs, db, clock, errors } = await scene();
    const reaped = listen(jobs, "run.reaped");
    const ended = listen(jobs, "database.available");
    let free = () => {};
    jobs.schedule("filling", () => {
      free = fill(db);
      return large;
    });
    // A short lease makes the janitor reap every second.
    jobs.schedule("theirs", () => {}).lease(2);
    const theirs = await jobs.dispatch("theirs").queue("elsewhere");
    void jobs.forever({ signals: false, queues: ["default"] });
    await heard(jobs, "worker.started");
    await jobs.dispatch("filling");
    await clock.advance(1);
    db.prepare(
      "update punctual_runs set state = 2, lease_token = 't', locked_by = 'w', locked_until = ? where id = ?",
    ).run(clock.now() - 1, theirs.id);
    await clock.advance(60);
    expect(reaped).toEqual([]);
    free();
    while (ended.length === 0) await clock.advance("100ms");
    await clock.advance("4.8s");
    expect(reaped).toEqual([]);
    await clock.advance(15);
    expect(reaped).toMatchObject([{ id: theirs.id }]);
    errors.splice(0);
  });
});
