import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type Probe, type ProbeOptions, type ProbeTarget, startProbe } from "../../src/index.ts";
import { toAddress } from "../../src/metrics/listen.ts";
import { TestClock } from "../../src/testing/index.ts";
import { heard, open } from "./support/instance.ts";
import { parsePrometheus } from "./support/prometheus.ts";
import { expectRefusal } from "./support/refusal.ts";

const probes: Probe[] = [];

async function probe(jobs: ProbeTarget, options: Partial<ProbeOptions> = {}): Promise<Probe> {
  const started = await startProbe(jobs, { port: 0, ...options });
  probes.push(started);
  return started;
}

afterEach(async () => {
  for (const started of probes.splice(0)) await started.stop();
});

/** An instance with some members replaced. */
function wrapped(jobs: ProbeTarget, other: Partial<ProbeTarget>): ProbeTarget {
  return {
    on: (name, listener) => jobs.on(name, listener),
    status: () => jobs.status(),
    schedules: () => jobs.schedules(),
    rates: () => jobs.rates(),
    find: (id) => jobs.find(id),
    install: (options) => jobs.install(options),
    children: () => jobs.children(),
    ...other,
  };
}

const get = async ({ url }: Probe, path: string, init: RequestInit = {}) => {
  const response = await fetch(`${url}${path}`, init);
  return { status: response.status, headers: response.headers, body: await response.text() };
};

const scrape = async (at: Probe) => parsePrometheus((await get(at, "/metrics")).body);

/** The value of one series. */
function value(
  families: ReturnType<typeof parsePrometheus>,
  name: string,
  labels: Record<string, string> = {},
) {
  const all = [...families.values()].flatMap((family) => family.samples);
  const wanted = JSON.stringify(Object.entries(labels).sort());
  return all.find((one) => one.name === name && JSON.stringify(Object.entries(one.labels).sort()) === wanted)
    ?.value;
}

describe("health and readiness", () => {
  test("a process is alive without a worker, ready with one, and not ready while it drains", async () => {
    const { jobs, clock } = open();
    const at = await probe(jobs);
    expect(await get(at, "/healthz")).toMatchObject({ status: 200, body: "ok\n" });
    expect(await get(at, "/readyz")).toMatchObject({ status: 503, body: "no worker runs in this process\n" });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    jobs.schedule("slow", () => held);
    await jobs.dispatch("slow");
    const started = heard(jobs, "run.started");
    const working = jobs.forever({ signals: false });
    await started;
    expect(await get(at, "/readyz")).toMatchObject({ status: 200, body: "ok\n" });
    const stopping = heard(jobs, "worker.stopping");
    const stopped = jobs.stop();
    await stopping;
    expect(await get(at, "/readyz")).toMatchObject({ status: 503, body: "the worker is draining\n" });
    expect((await get(at, "/healthz")).status).toBe(200);
    release();
    await clock.advance(1);
    await Promise.all([working, stopped]);
  });

  test("readiness without a worker needs the database only", async () => {
    const { jobs } = open();
    const at = await probe(jobs, { worker: false });
    expect((await get(at, "/readyz")).status).toBe(200);
  });

  test("a process without the schema is not ready", async () => {
    const { jobs } = open({ install: false });
    const at = await probe(jobs, { worker: false });
    const { status, body } = await get(at, "/readyz");
    expect([status, body]).toEqual([503, expect.stringContaining("has no Punctual tables")]);
    expect(value(await scrape(at), "punctual_database_up")).toBe(0);
  });

  test("a worker whose loop has stopped is stuck; one that reports errors is not", async () => {
    const { jobs, clock } = open();
    const watch = new TestClock();
    const at = await probe(jobs, { clock: watch });
    const turned = heard(jobs, "worker.turned");
    const working = jobs.forever({ signals: false });
    await turned;
    // The clock of the worker stands still, so that it sleeps.
    await watch.advance(130);
    const { status, body } = await get(at, "/healthz");
    expect([status, body]).toEqual([503, "the worker's loop has not completed a turn for 130 s\n"]);
    const again = heard(jobs, "worker.turned");
    await clock.advance(1);
    await again;
    expect((await get(at, "/healthz")).status).toBe(200);
    const stopping = jobs.stop();
    await clock.advance(1);
    await Promise.all([working, stopping]);
  });
});

describe("metrics", () => {
  test("count runs of this process by job, queue and outcome", async () => {
    const { jobs, clock } = open();
    const at = await probe(jobs);
    jobs
      .schedule("fine", () => {})
      .queue("mail")
      .concurrency(0);
    jobs
      .schedule("faulty", () => {
        throw new Error("no");
      })
      .retries({ max: 2, base: 1, jitter: "none" });
    await jobs.dispatch("fine");
    await jobs.dispatch("fine");
    await jobs.dispatch("faulty");
    await jobs.run();
    await clock.advance(61);
    await jobs.run();
    const families = await scrape(at);
    const of = (job: string, queue: string, outcome: string) =>
      value(families, "punctual_attempts_total", { job, queue, outcome });
    expect(of("fine", "mail", "completed")).toBe(2);
    expect(of("faulty", "default", "retried")).toBe(1);
    expect(of("faulty", "default", "failed")).toBe(1);
    expect(value(families, "punctual_retries_total", { job: "faulty", queue: "default" })).toBe(1);
    expect(value(families, "punctual_dispatched_total", { job: "fine", queue: "mail" })).toBe(2);
    expect(value(families, "punctual_run_duration_seconds_count", { job: "fine" })).toBe(2);
    expect(value(families, "punctual_run_wait_seconds_count", { queue: "default" })).toBe(2);
    expect(value(families, "punctual_run_wait_seconds_bucket", { queue: "default", le: "60" })).toBe(2);
    expect(value(families, "punctual_job_consecutive_failures", { job: "faulty" })).toBe(2);
    expect(value(families, "punctual_database_up")).toBe(1);
    expect(value(families, "process_resident_memory_bytes")).toBeGreaterThan(0);
  });

  test("have depth, age, pauses, schedules and slots from the database", async () => {
    const { jobs, clock } = open();
    jobs.schedule("report", () => {}).everyMinute();
    jobs.schedule("task", () => {});
    await jobs.run();
    await jobs.pauseQueue("held");
    await jobs.dispatch("task").queue("held");
    await jobs.dispatch("task").queue("held").delay("1h");
    await jobs.dispatch("task").queue("overdue").delay(10);
    await jobs.dispatch("task").queue("overdue").delay("1h");
    await clock.advance(40);
    const children = [
      { pid: 7, state: "busy", running: 3, memory: 1024 },
      { pid: 8, state: "starting", running: 0, memory: null },
    ];
    const at = await probe(wrapped(jobs, { children: () => children }));
    const families = await scrape(at);
    expect(value(families, "punctual_queue_depth", { queue: "held", state: "ready" })).toBe(1);
    expect(value(families, "punctual_queue_depth", { queue: "held", state: "scheduled" })).toBe(1);
    expect(value(families, "punctual_queue_oldest_age_seconds", { queue: "held" })).toBe(40);
    expect(value(families, "punctual_queue_depth", { queue: "overdue", state: "due" })).toBe(1);
    expect(value(families, "punctual_queue_depth", { queue: "overdue", state: "scheduled" })).toBe(1);
    expect(value(families, "punctual_queue_oldest_age_seconds", { queue: "overdue" })).toBe(30);
    expect(value(families, "punctual_queue_paused", { queue: "held" })).toBe(1);
    const [schedule] = await jobs.schedules();
    const labels = { schedule: String(schedule!.id), job: "report" };
    expect(value(families, "punctual_schedule_next_timestamp_seconds", labels)).toBe(
      schedule!.nextTick!.getTime() / 1000,
    );
    expect(value(families, "punctual_schedule_missed_total", labels)).toBe(0);
    expect(value(families, "punctual_workers")).toBe(0);
    expect(value(families, "punctual_worker_slots", { state: "free" })).toBe(0);
    expect(value(families, "punctual_children", { state: "busy" })).toBe(1);
    expect(value(families, "punctual_children", { state: "starting" })).toBe(1);
    expect(value(families, "punctual_child_runs", { pid: "7" })).toBe(3);
    expect(value(families, "punctual_child_resident_memory_bytes", { pid: "7" })).toBe(1024);
  });

  test("accept any name, and share one label beyond the cap", async () => {
    const { jobs } = open();
    const at = await probe(jobs, { labels: 3 });
    const odd = 'a"b\\c\nd\u{1f600}';
    let fails = false;
    jobs.schedule(odd, () => {
      if (fails) throw new Error("why");
    });
    await jobs.dispatch(odd);
    await jobs.run();
    for (let index = 0; index < 5; index++) {
      jobs.schedule(`job-${index}`, () => {}).queue(`queue-${index}`);
      await jobs.dispatch(`job-${index}`);
      await jobs.run();
    }
    const families = await scrape(at);
    const ran = families.get("punctual_attempts_total")!.samples;
    expect(ran.map(({ labels, value }) => [labels.job, value])).toEqual([
      [odd, 1],
      ["job-0", 1],
      ["job-1", 1],
      ["(others)", 3],
    ]);
    fails = true;
    await jobs.dispatch(odd);
    await jobs.run();
    const failed = { job: odd, queue: "default", outcome: "failed" };
    expect(value(await scrape(at), "punctual_attempts_total", failed)).toBe(1);
  });

  test("read the database at intervals, however often they are scraped", async () => {
    const { jobs } = open();
    let asked = 0;
    const counting = wrapped(jobs, {
      status: () => {
        asked++;
        return jobs.status();
      },
    });
    const clock = new TestClock();
    const at = await probe(counting, { clock });
    await Promise.all([scrape(at), scrape(at), scrape(at)]);
    await scrape(at);
    expect(asked).toBe(1);
    await clock.advance(6);
    await scrape(at);
    expect(asked).toBe(2);
  });
});

describe("the HTTP server of the probe", () => {
  test("handles HEAD, unknown paths, other methods and queries", async () => {
    const { jobs } = open();
    const at = await probe(jobs);
    const head = await get(at, "/metrics", { method: "HEAD" });
    expect([head.status, head.body]).toEqual([200, ""]);
    expect(head.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(Number(head.headers.get("content-length"))).toBeGreaterThan(100);
    expect((await get(at, "/healthz?now=1")).status).toBe(200);
    for (const path of ["/", "/health", "/constructor", "/metrics/"])
      expect((await get(at, path)).status).toBe(404);
    const posted = await get(at, "/metrics", { method: "POST", body: "x".repeat(100_000) });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(posted.headers.get("connection")).toBe("close");
  });

  test("closes its connections when it stops", async () => {
    const { jobs } = open();
    const at = await startProbe(jobs, { port: 0 });
    await get(at, "/healthz");
    await at.stop();
    await expect(fetch(`${at.url}/healthz`)).rejects.toThrow();
  });

  test("reports a port in use in one sentence", async () => {
    const { jobs } = open();
    const other = createServer();
    const port = await new Promise<number>((resolve) =>
      other.listen(0, "127.0.0.1", () => resolve((other.address() as { port: number }).port)),
    );
    await expectRefusal(
      () => startProbe(jobs, { port }),
      "CANNOT_LISTEN",
      `The probe cannot listen on 127.0.0.1:${port}: the port is in use. Stop the other process, or choose another port.`,
    );
    other.close();
  });

  test("parses addresses", () => {
    expect(toAddress("4481")).toEqual({ host: "127.0.0.1", port: 4481 });
    expect(toAddress(0)).toEqual({ host: "127.0.0.1", port: 0 });
    expect(toAddress("0.0.0.0:4481")).toEqual({ host: "0.0.0.0", port: 4481 });
    expect(toAddress("[::1]:4481")).toEqual({ host: "::1", port: 4481 });
    expect(toAddress("localhost:1")).toEqual({ host: "localhost", port: 1 });
    for (const wrong of ["", "http", "65536", "1.2", "-1", "host:", "a b:1", "::1:4481", "http://x:1"])
      expect(() => toAddress(wrong)).toThrow("Expected a port from 0 to 65535");
  });
});
