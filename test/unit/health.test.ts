import { describe, expect, test } from "vitest";
import { healthOf } from "../../src/status/health.ts";
import type { JobReport, QueueReport, SilentReport, StatusReport } from "../../src/status/report.ts";
import type { WorkerFacts } from "../../src/store/worker-records.ts";
import { queueReport } from "../support/queue-report.ts";

const now = new Date("2026-11-16T12:00:00Z");
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);

const queue = ({ name = "emails", ...fields }: Partial<QueueReport> = {}): QueueReport =>
  queueReport(name, fields);

const job = (fields: Partial<JobReport> = {}): JobReport => ({
  name: "send",
  queue: "emails",
  priority: 100,
  limit: 1,
  keyLimit: 0,
  cron: null,
  paused: false,
  pause: null,
  running: 0,
  waiting: 0,
  lastRun: null,
  lastFailure: null,
  lastError: null,
  errors: [],
  lastOutcome: null,
  fails: 0,
  mute: null,
  seenAt: ago(5),
  leasedUntil: null,
  leasedBy: null,
  nextRun: null,
  ...fields,
});

const worker = (queues: string[] | null = null, parallel = 10): StatusReport["workers"][number] => ({
  id: "w1",
  host: "web-1",
  pid: 1,
  parallel,
  queues,
  exceptQueues: [],
  weights: null,
  schedules: true,
  startedAt: ago(100),
  seenAt: ago(1),
  request: null,
});

const pausedWorker = (action: "pause" | "stop"): StatusReport["workers"][number] => ({
  ...worker(),
  facts: { activity: "paused" } as WorkerFacts,
  request: { action, since: now, by: "ana", reason: null },
});

const silent = (fields: Partial<SilentReport> = {}): SilentReport => ({
  id: "w9",
  trace: { host: "web-9", pid: 99, seenAt: ago(47) },
  runs: 1,
  jobs: ["send"],
  last: { id: 12, name: "send" },
  leasedUntil: ago(-13),
  ...fields,
});

const report = (fields: Partial<StatusReport> = {}): StatusReport => ({
  now,
  defined: 0,
  running: 0,
  idle: 0,
  jobs: [],
  queues: [],
  limits: [],
  workers: [worker()],
  late: [],
  silent: [],
  expired: 0,
  isolated: [],
  capped: false,
  ...fields,
});

describe("health", () => {
  test.each<[string, Partial<StatusReport>, string]>([
    ["an empty database", {}, "0 running, nothing late, 1 worker."],
    ["nobody works, and nothing is due", { workers: [] }, "0 running, nothing late, no worker is alive."],
    ["a worker that runs nothing", { workers: [worker(null, 0)] }, "no worker is alive"],
    ["work under way", { queues: [queue({ running: 2 }), queue({ name: "b", running: 1 })] }, "3 running"],
    [
      "runs that came just now",
      { queues: [queue({ ready: 5, oldest: ago(9) })], workers: [] },
      "nothing late",
    ],
    [
      "a queue that is served",
      { queues: [queue({ ready: 5, oldest: ago(60) })], workers: [worker(["emails"])] },
      "",
    ],
    ["runs for later", { queues: [queue({ scheduled: 50 })], workers: [] }, "nothing late"],
    ["a job nobody shows, with nothing waiting", { jobs: [job({ seenAt: ago(9999) })] }, "nothing late"],
    [
      "a schedule whose job was removed from the code more than a day ago",
      {
        jobs: [job({ name: "old", seenAt: ago(86_401), fails: 3 })],
        late: [{ id: 1, job: "old", nextTick: ago(86_000) }],
      },
      "nothing late",
    ],
    [
      "the same while no worker is alive, and others were shown later",
      {
        jobs: [job({ name: "old", seenAt: ago(200_000) }), job({ seenAt: ago(300) })],
        late: [{ id: 1, job: "old", nextTick: ago(199_000) }],
        workers: [],
      },
      "nothing late",
    ],
    [
      "a paused worker that was asked to stop",
      { workers: [pausedWorker("stop")] },
      "0 running, nothing late, 1 worker.",
    ],
    ["a paused job with nothing waiting", { jobs: [job({ paused: true })] }, "nothing late"],
  ])("healthy: %s", (_, fields, sentence) => {
    const health = healthOf(report(fields));
    expect(health).toMatchObject({ level: "healthy", hints: [] });
    expect(health.sentences).toHaveLength(1);
    expect(health.sentences[0]).toContain(sentence);
  });

  test.each<[string, Partial<StatusReport>, string, string]>([
    [
      "no worker at all",
      { queues: [queue({ ready: 1284, oldest: ago(360) })], workers: [] },
      "emails: 1,284 waiting for 6 min, no worker is alive.",
      "punctual work --queues emails",
    ],
    [
      "workers for other queues",
      { queues: [queue({ ready: 1, oldest: ago(11) })], workers: [worker(["default"]), worker(null, 0)] },
      "emails: 1 waiting for 11 s, no live worker serves this queue.",
      "punctual work --queues emails",
    ],
    [
      "workers that leave it out, where its name is no word of the command",
      {
        queues: [queue({ name: "a*2", ready: 1, oldest: ago(11) })],
        workers: [{ ...worker(), exceptQueues: ["a*2"] }],
      },
      "a*2: 1 waiting for 11 s, no live worker serves this queue.",
      "punctual work",
    ],
    [
      "scheduled runs that are due, and no worker to make them ready",
      { queues: [queue({ scheduled: 9, due: 2, oldest: ago(360) })], workers: [] },
      "emails: 2 waiting for 6 min, no worker is alive.",
      "punctual work --queues emails",
    ],
    [
      "ready and due runs together",
      { queues: [queue({ ready: 1, scheduled: 9, due: 2, oldest: ago(360) })], workers: [worker(["b"])] },
      "emails: 3 waiting for 6 min, no live worker serves this queue.",
      "punctual work --queues emails",
    ],
    [
      "a limit that no process has defined",
      {
        jobs: [job({ name: "a", waiting: 2 }), job({ name: "b" })],
        limits: [{ name: "openai", limit: null, rate: null, jobs: ["a", "b"], running: 0 }],
      },
      'a: runs wait for the limit "openai", which no process has defined.',
      "punctual doctor",
    ],
    [
      "workers that do not tick",
      { late: [{ id: 1, job: "nightly", nextTick: ago(60) }], workers: [{ ...worker(), schedules: false }] },
      "nightly: its schedule is 60 s late, no live worker ticks schedules.",
      "punctual work",
    ],
    [
      "more than was counted",
      {
        queues: [queue({ name: "two words", ready: 20_000, capped: true, oldest: ago(86_400 * 3) })],
        workers: [],
        capped: true,
      },
      "two words: 20,000 or more waiting for 3 days",
      "punctual work --queues 'two words'",
    ],
    [
      "a schedule that nobody ticks",
      { late: [{ id: 1, job: "nightly", nextTick: ago(240) }], workers: [] },
      "nightly: its schedule is 4 min late, no worker is alive.",
      "punctual work",
    ],
    [
      "the workers of a job are down",
      {
        jobs: [job({ name: "nightly", seenAt: ago(7200) })],
        late: [{ id: 1, job: "nightly", nextTick: ago(240) }],
        workers: [],
      },
      "nightly: its schedule is 4 min late, no worker is alive.",
      "punctual work",
    ],
    [
      "a run that a dead worker holds, and nobody to take it back",
      { silent: [silent()], workers: [worker(null, 0)] },
      'web-9:99 has given no sign of life for 47 s and holds run 12 of "send": its lease ends in 13 s, and no worker is alive to take it back.',
      "punctual work",
    ],
    ["leases that nobody takes back", { expired: 3, workers: [] }, "3 leases have expired", "punctual work"],
  ])("stalled: %s", (_, fields, sentence, hint) => {
    const health = healthOf(report(fields));
    expect(health.level).toBe("stalled");
    expect(health.sentences[0]).toContain(sentence);
    expect(health.hints).toEqual([hint]);
  });

  test.each<[string, Partial<StatusReport>, string, ...string[]]>([
    [
      "a queue that is far behind",
      { queues: [queue({ ready: 7, oldest: ago(301) })] },
      "emails: 7 waiting, the first for 5 min.",
      "punctual list --where 'is:late queue:emails'",
    ],
    [
      "a paused queue",
      {
        queues: [
          queue({
            ready: 17,
            oldest: ago(360),
            paused: true,
            pausedUntil: new Date("2026-11-16T16:00:00Z"),
            pause: { since: ago(60), by: "ana", reason: "the printer is on fire" },
          }),
        ],
        workers: [],
      },
      "emails: paused until 2026-11-16T16:00:00.000Z by ana (the printer is on fire), 17 waiting.",
      "punctual resume queue emails",
    ],
    [
      "a run that a frozen worker holds",
      { silent: [silent()] },
      'web-9:99 has given no sign of life for 47 s and holds run 12 of "send": its lease ends in 13 s, then another worker takes it back.',
      "punctual show 12",
    ],
    [
      "several, of a worker whose row is gone",
      { silent: [silent({ trace: null, runs: 3 })] },
      'A dead worker holds 3 runs, among them run 12 of "send": their leases end in at most 13 s, then another worker takes them back.',
      "punctual list --where 'worker:w9 state:ready,running'",
    ],
    [
      "one whose lease has just ended",
      { silent: [silent({ leasedUntil: ago(3) })] },
      "its lease ended 3 s ago, another worker takes it back within seconds.",
      "punctual show 12",
    ],
    [
      "a paused queue with nothing in it",
      { queues: [queue({ paused: true })] },
      "emails: paused.",
      "punctual resume queue emails",
    ],
    [
      "a crashed run that keeps others waiting",
      { isolated: [{ id: 3, name: "long", worker: "web-1:1", child: null, startedAt: ago(1) }] },
      "web-1:1 isolates run 3 of long, which has crashed before: its other runs wait, a few seconds at most.",
      "punctual show 3",
    ],
    [
      "a late schedule",
      { late: [{ id: 1, job: "nightly", nextTick: ago(30) }] },
      "nightly: its schedule is 30 s late.",
      "punctual schedule list --late",
    ],
    [
      "an ended lease",
      { expired: 1 },
      "1 lease has expired, and no worker has taken its run back.",
      "punctual doctor",
    ],
    [
      "a failing job",
      { jobs: [job({ fails: 5, lastError: "connect ETIMEDOUT\nsecond line" })] },
      "send: 5 attempts in a row failed: connect ETIMEDOUT",
      "punctual show send",
    ],
    [
      "a failing job with an odd name",
      { jobs: [job({ name: `it's "$(x)"`, fails: 1 })] },
      `it's "$(x)": its last attempt failed.`,
      `punctual show 'it'\\''s "$(x)"'`,
    ],
    [
      "a job that failed once",
      { jobs: [job({ fails: 1 })] },
      "send: its last attempt failed.",
      "punctual show send",
    ],
    [
      "a paused job with runs",
      { jobs: [job({ paused: true, waiting: 2, pause: { since: ago(9), by: null, reason: "why" } })] },
      "send: paused (why), 2 waiting.",
      "punctual resume job send",
    ],
    [
      "a job nobody defines any more",
      { jobs: [job({ waiting: 3, seenAt: ago(200) })] },
      "send: 3 waiting, no live worker defines it.",
      "punctual show send",
      "punctual prune --job send",
    ],
    [
      "a schedule whose job no live worker has defined lately",
      {
        jobs: [job({ name: "my report", seenAt: ago(7200) })],
        late: [{ id: 1, job: "my report", nextTick: ago(7000) }],
      },
      "my report: no live worker has defined it for 2 h, so its schedule does not tick.",
      "punctual work",
      "punctual prune --job 'my report'",
    ],
    [
      "a job nobody ever defined",
      { jobs: [job({ waiting: 3, seenAt: null })] },
      "no live worker defines it",
      "punctual show send",
    ],
  ])("degraded: %s", (_, fields, sentence, ...hints) => {
    const health = healthOf(report(fields));
    expect(health.level).toBe("degraded");
    expect(health.sentences).toHaveLength(1);
    expect(health.sentences[0]).toContain(sentence);
    expect(health.hints).toEqual(hints);
  });

  test("the worst problem comes first, and no hint twice", () => {
    const health = healthOf(
      report({
        workers: [],
        jobs: [job({ fails: 1 })],
        queues: [queue({ paused: true, name: "a" }), queue({ name: "b", ready: 1, oldest: ago(20) })],
        late: [
          { id: 1, job: "x", nextTick: ago(10) },
          { id: 2, job: "y", nextTick: ago(9) },
        ],
      }),
    );
    expect(health.level).toBe("stalled");
    expect(health.sentences.map((sentence) => sentence.split(":")[0])).toEqual(["b", "x", "y", "a", "send"]);
    expect(health.hints.filter((hint) => hint === "punctual work")).toHaveLength(1);
  });
});
