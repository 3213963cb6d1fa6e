import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { RateInfo } from "../status/rates.ts";
import type { ScheduleInfo, StatusReport } from "../status/report.ts";
import type { InstallReport } from "../store/maintenance.ts";
import { childIdentity } from "../supervisor/child-identity.ts";
import { type Clock, systemClock } from "../time.ts";
import { DatabaseMetrics, MOST_LABELS } from "./database-metrics.ts";
import { EventMetrics, type InstanceEvents } from "./event-metrics.ts";
import { LOOPBACK, listen, urlOf } from "./listen.ts";
import { Liveness } from "./liveness.ts";
import { type ChildMetrics, processMetrics } from "./process-metrics.ts";
import { CONTENT_TYPE, toText } from "./prometheus.ts";

/** Methods of an instance that the probe calls. */
export interface ProbeTarget extends InstanceEvents {
  status(): Promise<StatusReport>;
  schedules(): Promise<ScheduleInfo[]>;
  rates(): Promise<RateInfo[]>;
  find(id: number): Promise<unknown>;
  install(options: { dryRun: true }): Promise<InstallReport>;
  /** Child processes of a supervisor; called at each scrape. */
  children(): readonly ChildMetrics[];
}

/** Options of `startProbe()`. */
export interface ProbeOptions {
  /** 0: any free port. */
  port: number;
  /** Default: 127.0.0.1, which is reachable from this machine only. */
  host?: string | undefined;
  /** Whether `/readyz` requires a worker in this process. Default: true. */
  worker?: boolean | undefined;
  /** Most job names, and most queue names, that appear as labels. Default: 500. */
  labels?: number | undefined;
  /** Source of time, for tests. */
  clock?: Clock | undefined;
}

/** A listening probe. In a child process of `supervise()` it has no socket: the parent's probe listens. */
export interface Probe {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Stops listening and closes every connection, also one that a scraper keeps open. */
  stop(): Promise<void>;
}

/** A worker whose loop has not completed a turn for this long is stuck: every statement fails sooner than that. */
const STUCK_AFTER = 120_000;

type Answer = { status: number; type?: string; body: string };

/**
 * Serves `/healthz`, `/readyz` and `/metrics` of an instance over HTTP. Does not keep the process alive. Does not
 * listen in a child process of `supervise()`: the parent's probe reports on all children.
 */
export async function startProbe(jobs: ProbeTarget, options: ProbeOptions): Promise<Probe> {
  const { host = LOOPBACK, port, worker = true, labels = MOST_LABELS, clock = systemClock } = options;
  if (childIdentity()) return { host, port, url: urlOf(host, port), stop: async () => {} };
  const liveness = new Liveness(jobs, clock);
  const metrics = new EventMetrics(jobs, labels);
  const database = new DatabaseMetrics(jobs, labels, clock);
  const stopListening = () => {
    liveness.stop();
    metrics.stop();
  };
  const answers: Record<string, () => Promise<Answer>> = {
    "/healthz": async () => {
      const stuck = liveness.whyStuck(STUCK_AFTER);
      return stuck === null ? ok() : unavailable(stuck);
    },
    "/readyz": async () => {
      const fault =
        (worker ? liveness.whyNotWorking : null) ??
        liveness.whyStuck(STUCK_AFTER) ??
        (await database.whyNotReady());
      return fault === null ? ok() : unavailable(fault);
    },
    "/metrics": async () => ({
      status: 200,
      type: CONTENT_TYPE,
      body: toText([
        ...processMetrics(clock, liveness.lag, jobs.children()),
        ...metrics.families(),
        ...(await database.families()),
      ]),
    }),
  };
  const { createServer } = await import("node:http");
  const server = createServer((request, response) => void respond(request, response, answers));
  // Low limits: these requests are small and short, and a client must not tie up the process with slow or many ones.
  Object.assign(server, { headersTimeout: 5000, requestTimeout: 10_000, maxConnections: 100 });
  try {
    await listen(server, { host, port }, "The probe");
  } catch (error) {
    stopListening();
    throw error;
  }
  server.unref();
  const bound = (server.address() as AddressInfo).port;
  return {
    host,
    port: bound,
    url: urlOf(host, bound),
    stop: () => {
      stopListening();
      return new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      });
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answers: Record<string, () => Promise<Answer>>,
): Promise<void> {
  const { method = "", url = "/" } = request;
  const path = url.split("?", 1)[0]!;
  const known = Object.hasOwn(answers, path) ? answers[path]! : null;
  let answer: Answer;
  if (known === null)
    answer = { status: 404, body: `not found; the paths are ${Object.keys(answers).join(", ")}\n` };
  else if (method !== "GET" && method !== "HEAD") answer = { status: 405, body: "only GET and HEAD\n" };
  else answer = await known().catch((error) => unavailable(String((error as Error)?.message ?? error)));
  response.writeHead(answer.status, {
    "content-type": answer.type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(answer.body),
    "cache-control": "no-store",
    // One connection per request, so that none is left open when the probe stops.
    connection: "close",
    ...(answer.status === 405 && { allow: "GET, HEAD" }),
  });
  response.end(method === "HEAD" ? undefined : answer.body);
}

function ok(): Answer {
  return { status: 200, body: "ok\n" };
}

function unavailable(why: string): Answer {
  return { status: 503, body: `${why}\n` };
}
