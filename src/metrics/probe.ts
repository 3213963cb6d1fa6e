import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PunctualError } from "../errors.ts";
import type { ScheduleInfo, StatusReport } from "../status/report.ts";
import type { InstallReport } from "../store/maintenance.ts";
import { inside } from "../supervisor/inside.ts";
import { type Clock, systemClock } from "../time.ts";
import { type Address, LOOPBACK } from "./address.ts";
import { DatabaseFigures } from "./database-figures.ts";
import { type Heard, Metrics } from "./metrics.ts";
import { type ChildFigures, processFigures } from "./process-figures.ts";
import { CONTENT_TYPE, toText } from "./prometheus.ts";
import { Pulse } from "./pulse.ts";

/** What the probe asks of an instance. */
export interface Probed extends Heard {
  status(): Promise<StatusReport>;
  schedules(): Promise<ScheduleInfo[]>;
  find(id: number): Promise<unknown>;
  install(options: { dryRun: true }): Promise<InstallReport>;
  /** Of a supervisor; asked at each scrape. */
  children(): readonly ChildFigures[];
}

/** Where a probe listens and what it tells. */
export interface ProbeOptions {
  /** 0: any free one. */
  port: number;
  /** Default: 127.0.0.1, which only this machine reaches. */
  host?: string;
  /** Whether readiness needs a worker in this process. Default: true. */
  worker?: boolean;
  /** The most names of jobs and of queues that metrics have. Default: 500. */
  labels?: number;
  /** For tests. */
  clock?: Clock;
}

/** A probe that listens; in a child process of `supervise()`, the parent's. */
export interface Probe {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Closes every connection, also one that a scraper keeps open. */
  stop(): Promise<void>;
}

/** A loop that stands still for so long is not slow but stuck: the database's own patience ends before. */
const STUCK_AFTER = 120_000;
const LABELS = 500;

type Answer = { status: number; type?: string; body: string };

/**
 * Serves `/healthz`, `/readyz` and `/metrics` of an instance. It does not keep the process alive. In a child process of
 * `supervise()` nothing listens: the probe of the parent reports for all of them.
 */
export async function startProbe(jobs: Probed, options: ProbeOptions): Promise<Probe> {
  const { host = LOOPBACK, port, worker = true, labels = LABELS, clock = systemClock } = options;
  if (inside()) return { host, port, url: urlOf(host, port), stop: async () => {} };
  const pulse = new Pulse(jobs, clock);
  const metrics = new Metrics(jobs, labels);
  const figures = new DatabaseFigures(jobs, labels, clock);
  const stopListening = () => {
    pulse.stop();
    metrics.stop();
  };
  const answers: Record<string, () => Promise<Answer>> = {
    "/healthz": async () => {
      const stuck = pulse.stuck(STUCK_AFTER);
      return stuck === null ? ok() : unavailable(stuck);
    },
    "/readyz": async () => {
      const fault =
        (worker ? pulse.notWorking : null) ?? pulse.stuck(STUCK_AFTER) ?? (await figures.notReady());
      return fault === null ? ok() : unavailable(fault);
    },
    "/metrics": async () => ({
      status: 200,
      type: CONTENT_TYPE,
      body: toText([
        ...processFigures(clock, pulse.lag, jobs.children()),
        ...metrics.families(),
        ...(await figures.families()),
      ]),
    }),
  };
  const { createServer } = await import("node:http");
  const server = createServer((request, response) => void respond(request, response, answers));
  // Small and short, as these requests are: nobody can hold the process with slow or many ones.
  Object.assign(server, { headersTimeout: 5000, requestTimeout: 10_000, maxConnections: 100 });
  try {
    await listen(server, { host, port });
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

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
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
    answer = { status: 404, body: `not found; there is ${Object.keys(answers).join(", ")}\n` };
  else if (method !== "GET" && method !== "HEAD") answer = { status: 405, body: "only GET and HEAD\n" };
  else answer = await known().catch((error) => unavailable(String((error as Error)?.message ?? error)));
  response.writeHead(answer.status, {
    "content-type": answer.type ?? "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(answer.body),
    "cache-control": "no-store",
    // A connection each: none is left over when the probe stops, and none for a worker to hold.
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

function listen(server: Server, { host, port }: Address): Promise<void> {
  return new Promise((listening, refused) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = WHY[cause.code ?? ""] ?? cause.message;
      refused(
        new PunctualError("CANNOT_LISTEN", `The probe cannot listen on ${host}:${port}: ${why}.`, { cause }),
      );
    });
    server.listen({ host, port }, () => listening());
  });
}

const WHY: Record<string, string> = {
  EADDRINUSE: "something else does already. Stop that, or choose another port",
  EACCES: "this user may not. Choose a port above 1023",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "there is no such host",
};
