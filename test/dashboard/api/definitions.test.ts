import { describe, expect, test } from "vitest";
import type {
  FailuresResponse,
  JobDetail,
  Meta,
  Problem,
  QueueDetail,
  ScheduleDetail,
  SchedulesResponse,
  ValuesResponse,
  WorkerView,
} from "../../../src/dashboard/api/contract.ts";
import { heard, open, stopped } from "../../api/support/instance.ts";
import { serve } from "../support/api.ts";

const AWKWARD = "a/b.c d</script>\u001b[31m\u202e";

describe("jobs, queues, schedules, failures and workers", () => {
  test("show a day of work", async () => {
    const one = open();
    const { jobs, clock } = one;
    jobs
      .define(AWKWARD, (args: { n: number }) => {
        if (args.n > 1) throw new TypeError(`no ${args.n} http://a:geheim@b`);
      })
      .concurrency(0)
      .queue("q/1")
      .everyMinute()
      .args({ n: 1, password: "geheim" } as never);
    const { viewer } = serve(jobs);
    const work = jobs.forever();
    await heard(jobs, "worker.started");
    for (const n of [1, 2, 3]) await jobs.dispatch(AWKWARD, { n });
    await clock.advance(130);
    const name = encodeURIComponent(AWKWARD);

    const job = (await viewer.get<JobDetail>(`/jobs/${name}`)).body;
    expect(job).toMatchObject({ name: AWKWARD, queue: "q/1", undefined: false, last24h: { failed: 2 } });
    expect(job.last24h.completed).toBeGreaterThan(1);
    expect(job.spark).toHaveLength(12);
    expect(job.failures).toMatchObject([
      { count: { value: 2 }, jobs: [AWKWARD], error: { name: "TypeError" } },
    ]);
    expect(job.lastArgs).toBe('{"n":1,"password":"[hidden]"}');
    expect(job.settings).toMatchObject({ Queue: "q/1", "Runs at once": "no limit" });
    expect(job.definedAt).toContain("definitions.test.ts:");
    expect(job.commands.pause).toMatch(/^punctual pause job '/);

    const queue = (await viewer.get<QueueDetail>("/queues/q%2F1")).body;
    expect(queue).toMatchObject({ name: "q/1", workers: 1, jobs: [AWKWARD] });
    expect(queue.perMinute.completed).toBeGreaterThan(0);

    const { items, hours } = (await viewer.get<SchedulesResponse>("/schedules")).body;
    expect(items).toMatchObject([{ job: AWKWARD, state: "active", words: "Every minute.", missed: 0 }]);
    expect(items[0]!.recent.map(({ state }) => state)).toEqual(["completed", "completed"]);
    expect(hours).toHaveLength(24);
    expect(hours[5]).toMatchObject({ ticks: 60, jobs: [AWKWARD] });
    const schedule = (await viewer.get<ScheduleDetail>(`/schedules/${items[0]!.id}`)).body;
    expect(schedule.upcoming).toHaveLength(10);
    expect(schedule.args.json).toBe('{"n":1,"password":"[hidden]"}');
    expect(schedule.misfires).toContain("latest missed tick");

    const failures = (await viewer.get<FailuresResponse>("/failures")).body;
    expect(failures.items).toMatchObject([
      { error: { message: "no 3 http://a:[hidden]@b" }, spark: { length: 24 } },
    ]);
    const { q, sample, command } = failures.items[0]!;
    const found = (await viewer.get(`/runs?q=${encodeURIComponent(q)}`)).body;
    expect(found).toMatchObject({ count: { value: 2 }, items: [{ id: sample }, {}] });
    expect(command).toBe(`punctual retry --where '${q}'`);

    const workers = (await viewer.get<{ items: WorkerView[] }>("/workers")).body.items;
    expect(workers).toMatchObject([{ state: "live", pid: process.pid, queues: null, ticks: true }]);
    expect((await viewer.get<ValuesResponse>("/values?field=queue&prefix=q")).body).toEqual({
      values: ["q/1"],
    });
    expect((await viewer.get<ValuesResponse>("/values?field=state&prefix=s")).body).toEqual({
      values: ["scheduled", "skipped"],
    });
    const everything = [
      job,
      queue,
      items,
      schedule,
      failures,
      workers,
      await viewer.get("/overview"),
      await viewer.get("/jobs"),
    ];
    expect(JSON.stringify(everything)).not.toContain("geheim");
    await stopped(one);
    await work;
  });

  test("what does not exist is 404", async () => {
    const { viewer } = serve(open().jobs);
    for (const [path, code] of [
      ["/jobs/none", "UNKNOWN_JOB"],
      ["/queues/none", "UNKNOWN_QUEUE"],
      ["/schedules/9", "UNKNOWN_SCHEDULE"],
      ["/bulk/x", "UNKNOWN_OPERATION"],
      ["/nothing", "NO_ROUTE"],
    ]) {
      const { status, body } = await viewer.get<Problem>(path!);
      expect([path, status, body.code]).toEqual([path, 404, code]);
    }
    expect((await viewer.get<Problem>("/values?field=args")).status).toBe(422);
  });

  test("meta names the database, the user and the process", async () => {
    const { jobs, clock } = open();
    const { operator } = serve(jobs, { title: "Shop", environment: "staging" });
    const { body } = await operator.get<Meta>("/meta");
    expect(body).toMatchObject({
      title: "Shop",
      environment: "staging",
      database: { kind: "sqlite", schema: expect.any(Number) },
      user: { name: "ana", role: "operator" },
      readOnly: false,
      now: new Date(clock.now()).toISOString(),
      clockSkew: 0,
    });
  });
});
