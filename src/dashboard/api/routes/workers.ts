import type { SilentReport } from "../../../status/report.ts";
import { obeys, type WorkerInfo } from "../../../status/workers.ts";
import type { Route } from "../../server/route.ts";
import type { WorkerView } from "../contract.ts";
import { defineAction, defineRead } from "../define-route.ts";
import { text } from "../request-values.ts";
import type { Services } from "../services.ts";
import { iso } from "../views/times.ts";

export function workersRoutes(services: Services): Route[] {
  return [listRoute(services), ...workerActions(services)];
}

function listRoute(services: Services): Route {
  return defineRead(services, "GET /workers", {}, async () => {
    const [live, report] = await Promise.all([services.reports.workers(), services.status()]);
    const silent = report.silent.filter(({ id }) => !live.some((worker) => worker.id === id));
    return {
      items: [...live.map((worker) => toLiveWorker(worker, report.now)), ...silent.map(toSilentWorker)],
    };
  });
}

function workerActions(services: Services): Route[] {
  const { jobs } = services;
  const soon = "It obeys at its next heartbeat, within about 6 seconds.";
  return [
    defineAction(
      services,
      "POST /workers/:worker/pause",
      { role: "operator", body: { reason: text } },
      async ({ params: { worker: id = "" }, body: { reason }, user }) => {
        const details = reason ? { reason } : {};
        await jobs.pauseWorker(id, { by: user.name, ...details });
        const message = `Worker ${id} is asked to pause: it claims nothing more. ${soon}`;
        return { response: { message }, audit: { action: "worker.pause", target: id, details } };
      },
    ),
    defineAction(
      services,
      "POST /workers/:worker/resume",
      { role: "operator", body: {} },
      async ({ params: { worker: id = "" } }) => {
        await jobs.resumeWorker(id);
        const message = `Worker ${id} is asked to resume. ${soon}`;
        return { response: { message }, audit: { action: "worker.resume", target: id } };
      },
    ),
    defineAction(
      services,
      "POST /workers/:worker/stop",
      { role: "admin", body: { reason: text } },
      async ({ params: { worker: id = "" }, body: { reason }, user }) => {
        const details = reason ? { reason } : {};
        await jobs.stopWorker(id, { by: user.name, ...details });
        const message = `Worker ${id} is asked to stop: it finishes its runs, and its process ends. ${soon}`;
        return { response: { message }, audit: { action: "worker.stop", target: id, details } };
      },
    ),
  ];
}

function toLiveWorker(worker: WorkerInfo, now: Date): WorkerView {
  const { id, host, pid, parallel, facts, queues, exceptQueues, schedules, startedAt, seenAt, request } =
    worker;
  return {
    id,
    host,
    pid,
    state: parallel > 0 ? "live" : "dispatcher",
    activity: parallel > 0 ? (facts?.activity ?? null) : null,
    request: request && { ...request, since: iso(request.since), obeyed: obeys(worker) },
    version: facts?.version ?? null,
    queues: queues === null ? null : [...queues],
    except: [...exceptQueues],
    slots: { used: worker.used, total: parallel },
    ticks: schedules,
    startedAt: iso(startedAt),
    seenAt: iso(seenAt),
    memory: facts?.memory ?? null,
    loopLag: facts?.lag ?? null,
    children: (facts?.children ?? []).map(({ number, pid, running }) => ({ number, pid, runs: running })),
    running: worker.running.map((run) => ({
      id: run.id,
      job: run.name,
      state: "running",
      at: iso(run.startedAt),
      took: Math.max(0, Number(now) - Number(run.startedAt)),
    })),
    leasedUntil: null,
  };
}

/** A worker that holds runs without a sign of life. Its row may be gone. */
function toSilentWorker({ id, trace, runs, last, leasedUntil }: SilentReport): WorkerView {
  return {
    id,
    host: trace?.host ?? "",
    pid: trace?.pid ?? 0,
    state: "silent",
    activity: null,
    request: null,
    version: null,
    queues: null,
    except: [],
    slots: { used: runs, total: 0 },
    ticks: false,
    startedAt: null,
    seenAt: trace && iso(trace.seenAt),
    memory: null,
    loopLag: null,
    children: [],
    running: [{ id: last.id, job: last.name, state: "running", at: iso(leasedUntil), took: null }],
    leasedUntil: iso(leasedUntil),
  };
}
