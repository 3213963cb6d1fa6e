import { describe, expect, test } from "vitest";
import type {
  FailuresResponse,
  JobDetail,
  Meta,
  Overview,
  Problem,
  QueueDetail,
  RunDetail,
  RunsResponse,
  ScheduleDetail,
  SchedulesResponse,
  ValuesResponse,
  WorkerView,
} from "../../../src/dashboard/api/contract.ts";
import { toSegment } from "../../../src/dashboard/segment.ts";
import { heard, open, stopped } from "../../api/support/instance.ts";
import { serve } from "../support/api.ts";

const AWKWARD = "a/b.c d</script>\u001b[31m\u202e";

describe("jobs, queues, schedules, failures and workers", () => {
  test("count delayed runs and retries that are due as waiting, while no worker is alive", async () => {
    const { jobs, clock } = open();
    jobs.define("report", () => {});
    const { viewer } = serve(jobs);
    await jobs.dispatch("report").queue("slow").delay(30);
    await jobs.dispatch("report").queue("slow").delay("1h");
    await clock.advance(90);
    const count = (value: number) => ({ value, capped: false });
    const overview = (await viewer.get<Overview>("/overview")).body;
    expect(overview.health).toMatchObject({
      level: "stalled",
      sentences: ["slow: 1 waiting for 60 s, no worker is alive."],
      commands: ["punctual work --queues slow"],
    });
    const oldest = "2026-01-01T00:00:30.000Z";
    const waiting = { ready: count(0), scheduled: count(2), due: count(1), oldest };
    expect(overview.tiles.waiting).toEqual(waiting);
    expect(overview.attention).toMatchObject([
      { kind: "queue", name: "slow", text: "runs wait for 60 s, no worker is alive", since: oldest },
    ]);
    expect((await viewer.get<QueueDetail>("/queues/slow")).body).toMatchObject({ ...waiting, workers: 0 });
  });

  test("send who asks about a job that is tried again to the job: no run has failed", async () => {
    const { jobs, clock } = open();
    jobs
      .define("mail", () => {
        throw new Error("no answer");
      })
      .attempts(9, 60);
    const { viewer } = serve(jobs);
    await jobs.dispatch("mail");
    await jobs.run();
    await clock.advance(120);
    await jobs.run();
    const { attention } = (await viewer.get<Overview>("/overview")).body;
    expect(attention).toMatchObject([
      { kind: "failure", name: "mail", text: "2 attempts in a row failed: no answer", link: "/jobs/mail" },
    ]);
  });

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
    expect(schedule.commands.run).toBe(`punctual schedule run ${schedule.id}`);

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

  test.each([".", "..", "~.", "..."])("a job and a queue named %s have an address", async (name) => {
    const { jobs, clock } = open();
    jobs.define(name, () => {}).queue(name);
    const { viewer, operator } = serve(jobs);
    await jobs.dispatch(name);
    await clock.advance(1);
    const segment = toSegment(name);
    expect((await viewer.get<JobDetail>(`/jobs/${segment}`)).body).toMatchObject({ name });
    expect((await viewer.get<QueueDetail>(`/queues/${segment}`)).body).toMatchObject({ name });
    expect((await operator.post(`/queues/${segment}/pause`)).status).toBe(200);
    const { attention } = (await viewer.get<Overview>("/overview")).body;
    expect(attention).toMatchObject([{ name, link: `/queues/${segment}` }]);
  });

  test("the overview counts failed runs apart from failed attempts, and as its list does", async () => {
    const { jobs, clock } = open();
    jobs
      .define("mail", () => {
        throw new Error("no");
      })
      .attempts(2)
      .concurrency(0);
    const { viewer, operator } = serve(jobs);
    const ids = [(await jobs.dispatch("mail")).id, (await jobs.dispatch("mail")).id];
    await jobs.run();
    await clock.advance("1h");
    await jobs.run();
    const failed = async () => (await viewer.get<Overview>("/overview")).body.tiles.failed;
    expect(await failed()).toEqual({
      runs: { value: 2, capped: false },
      rate: 1,
      attempts: 4,
      attemptsBefore: 0,
      jobs: 1,
    });
    await operator.post(`/runs/${ids[0]}/retry`);
    await clock.advance(6);
    expect(await failed()).toMatchObject({ runs: { value: 1 }, attempts: 4 });
    const list = await viewer.get<RunsResponse>("/runs?q=state:failed%20after:24h");
    expect(list.body.count?.value).toBe(1);
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
    const { operator } = serve(jobs, {
      title: "Shop",
      environment: "staging",
      redact: ["*.email"],
      allowedHosts: ["Jobs.example.com"],
    });
    const { body } = await operator.get<Meta>("/meta");
    expect(body).toMatchObject({
      title: "Shop",
      environment: "staging",
      database: { kind: "sqlite", schema: expect.any(Number) },
      user: { name: "ana", role: "operator" },
      readOnly: false,
      now: new Date(clock.now()).toISOString(),
      clockSkew: 0,
      settings: {
        "Allowed hosts": "local names, jobs.example.com",
        "Hidden values": "passwords, tokens and the like, *.email",
      },
    });
  });
});

test("the strips of a job and of a run show finished runs, however many wait", async () => {
  const { jobs } = open();
  const mail = jobs.define("mail", () => {});
  const done = await mail.dispatch();
  await jobs.run();
  const { id } = await mail.delay("1h").dispatch();
  for (let n = 0; n < 40; n++) await mail.delay("1h").dispatch();
  const { viewer } = serve(jobs);
  const finished = [{ id: done.id, state: "completed" }];
  expect((await viewer.get<JobDetail>("/jobs/mail")).body.recent).toMatchObject(finished);
  const run = (await viewer.get<RunDetail>(`/runs/${done.id}`)).body;
  expect(run.recent).toMatchObject(finished);
  expect([run.newer, run.older]).toEqual([id, null]);
});
