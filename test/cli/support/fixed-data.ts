import type { AttemptInfo, RunInfo } from "../../../src/run/info.ts";
import type { StatusReport } from "../../../src/status/report.ts";
import { queueReport } from "../../support/queue-report.ts";

/** Everything that a status can show, at one moment. */
export const now: Date = new Date("2026-11-15T15:02:11Z");

const SECOND = 1;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

export const at = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);

type Job = StatusReport["jobs"][number];

function job(fields: Partial<Job> & { name: string }): Job {
  return {
    queue: "default",
    priority: 100,
    limit: 1,
    keyLimit: 0,
    cron: null,
    paused: false,
    running: 0,
    waiting: 0,
    lastRun: null,
    lastFailure: null,
    lastError: null,
    errors: [],
    fails: 0,
    mute: null,
    seenAt: at(-4 * SECOND),
    leasedUntil: null,
    leasedBy: null,
    lastOutcome: fields.fails ? "failed" : fields.lastRun ? "completed" : null,
    pause: null,
    nextRun: null,
    ...fields,
  };
}

export const jobs: Job[] = [
  job({ name: "sync-stripe", priority: 10, cron: "0 * * * * *", lastRun: at(-22), nextRun: at(38) }),
  job({
    name: "rollup-hourly",
    cron: "0 0 * * * *",
    lastRun: at(-62 * MINUTE),
    nextRun: at(58 * MINUTE),
    running: 1,
    leasedUntil: at(48),
  }),
  job({
    name: "send-invoice",
    queue: "emails",
    running: 3,
    waiting: 12,
    fails: 5,
    lastRun: at(-2 * MINUTE),
    lastFailure: at(-30),
    lastError: "connect ETIMEDOUT 10.0.0.1:25\nwhile sending invoice 4711",
    leasedUntil: at(12),
  }),
  job({
    name: "nightly-export",
    queue: "heavy",
    priority: -5,
    cron: "0 0 14 * * *",
    lastRun: at(-25 * HOUR),
    nextRun: at(-4 * MINUTE - 2),
  }),
  job({
    name: "digest-emails",
    queue: "newsletters",
    cron: "0 0 15 * * 1-5",
    lastRun: at(-2 * DAY),
    nextRun: at(DAY),
  }),
  job({
    name: "old-report",
    cron: "0 0 3 * * *",
    lastRun: at(-12 * DAY),
    seenAt: at(-12 * DAY),
    nextRun: at(12 * HOUR),
  }),
  job({ name: "heartbeat", cron: "*/5 * * * * *", lastRun: at(-3), nextRun: at(2) }),
  job({ name: "レポート作成", queue: "reports", waiting: 2 }),
  job({
    name: "import-customers-from-the-legacy-system-of-the-south",
    queue: "imports",
    fails: 1,
    lastRun: at(-62 * MINUTE),
    lastFailure: at(-1 * MINUTE),
    lastError: "\x1b[31mbad\x07 row",
  }),
  job({ name: "held-back", paused: true, cron: "0 0 9 * * *" }),
];

export const report: StatusReport = {
  now,
  defined: jobs.length,
  running: 2,
  idle: jobs.length - 2,
  jobs,
  late: [{ id: 1, job: "nightly-export", nextTick: at(-4 * MINUTE - 2) }],
  silent: [],
  expired: 0,
  isolated: [],
  limits: [],
  capped: false,
  queues: [
    queueReport("default", { running: 1 }),
    queueReport("emails", { limit: 4, ready: 1204, scheduled: 12, running: 3, oldest: at(-7) }),
    queueReport("heavy", { ready: 1, oldest: at(-242) }),
    queueReport("newsletters", { paused: true, pausedUntil: at(DAY) }),
  ],
  workers: [
    {
      id: "Vt3kQ9aXbL2m",
      host: "web-1",
      pid: 4400,
      parallel: 10,
      queues: ["default", "emails"],
      exceptQueues: [],
      weights: null,
      schedules: true,
      startedAt: at(-2 * DAY),
      seenAt: at(-1),
      request: null,
    },
    {
      id: "pR8sW1cYdN5k",
      host: "web-2",
      pid: 4411,
      parallel: 10,
      queues: ["default", "emails"],
      exceptQueues: [],
      weights: null,
      schedules: true,
      startedAt: at(-3 * HOUR),
      seenAt: at(-6),
      request: null,
    },
  ],
};

export function run(fields: Partial<RunInfo> & { id: number }): RunInfo {
  return {
    name: "send-invoice",
    queue: "emails",
    key: null,
    priority: 100,
    state: "completed",
    args: undefined,
    attempts: 1,
    crashes: 0,
    isolated: false,
    runAt: at(-120),
    createdAt: at(-130),
    startedAt: at(-119.5),
    finishedAt: at(-118.4),
    worker: "pR8sW1cYdN5k",
    child: null,
    lockedUntil: null,
    error: null,
    fingerprint: null,
    result: undefined,
    progress: undefined,
    tags: [],
    parentId: null,
    rerunOf: null,
    scheduleId: null,
    timeout: null,
    batchId: null,
    uniqueKey: null,
    scheduledFor: null,
    cancelRequested: false,
    ...fields,
  };
}

export const failure: NonNullable<RunInfo["error"]> = {
  name: "SmtpError",
  message: "connect ETIMEDOUT 10.0.0.1:25\nwhile sending invoice 4711",
  code: "ESMTP",
  stack: [
    "SmtpError: connect ETIMEDOUT 10.0.0.1:25",
    "    at Socket.onTimeout (node:net:601:8)",
    "    at Mailer.send (file:///srv/app/node_modules/mailer/index.js:12:3)",
    "    at sendInvoice (/srv/app/jobs/send-invoice.ts:14:9)",
    "    at async file:///srv/app/jobs/shared/retry.ts:3:5",
    "    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)",
  ].join("\n"),
  cause: { name: "Error", message: "socket hang up", code: null, stack: null, cause: null },
};

export const failed: RunInfo = run({
  id: 9005,
  state: "failed",
  attempts: 3,
  crashes: 1,
  key: "customer-7",
  args: {
    id: 4711,
    password: "hunter2",
    to: [{ mail: "a@example.com", apiKey: "k" }],
    note: "é 日本 \u202e",
  },
  error: failure,
  fingerprint: "0123456789abcdef",
  progress: { sent: 1, of: 3 },
  tags: ["monthly", "eu"],
  parentId: 8999,
  batchId: "12",
  uniqueKey: "invoice:4711",
});

export const attempts: AttemptInfo[] = [
  {
    attempt: 1,
    outcome: "retried",
    worker: "Vt3kQ9aXbL2m",
    startedAt: at(-300),
    finishedAt: at(-270),
    error: failure,
  },
  { attempt: 2, outcome: "crashed", worker: "gone", startedAt: at(-200), finishedAt: at(-190), error: null },
  {
    attempt: 3,
    outcome: "failed",
    worker: "pR8sW1cYdN5k",
    startedAt: at(-119.5),
    finishedAt: at(-118.4),
    error: failure,
  },
];

export const runs: RunInfo[] = [
  run({
    id: 9007,
    name: "レポート作成",
    queue: "reports",
    state: "ready",
    attempts: 0,
    runAt: at(-90),
    startedAt: null,
    finishedAt: null,
    worker: null,
  }),
  run({
    id: 9006,
    name: "rollup-hourly",
    queue: "default",
    state: "running",
    startedAt: at(-72),
    finishedAt: null,
    lockedUntil: at(48),
  }),
  failed,
  run({ id: 9004, state: "scheduled", runAt: at(3500), startedAt: null, finishedAt: null, worker: null }),
  run({
    id: 9003,
    state: "cancelled",
    startedAt: null,
    error: { ...failure, message: "cancelled by ops\x1b[2J", cause: null, stack: null },
  }),
  run({ id: 9002, state: "skipped", name: "import-customers-from-the-legacy-system-of-the-south" }),
  run({ id: 12, name: "sync-stripe", queue: "default", result: { synced: 3 }, tags: ["nightly"] }),
];
