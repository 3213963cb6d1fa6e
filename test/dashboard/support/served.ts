import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Dashboard } from "../../../src/dashboard/index.ts";
import type { DashboardOptions } from "../../../src/dashboard/server/options.ts";
import type { Route } from "../../../src/dashboard/server/route.ts";
import { serverWith } from "./server.ts";

/** A dashboard whose routes show what reaches them, and what they have been told. */
export interface Probe {
  dashboard: Dashboard;
  /** Resolves when the signal of a stream or of the silent route has aborted. */
  aborted: Promise<void>;
  /** Resolves when the silent route, which does not answer, has been called. */
  reached: Promise<void>;
}

export function probeDashboard(options: DashboardOptions = {}): Probe {
  let noteAborted = () => {};
  let noteReached = () => {};
  const reached = new Promise<void>((resolve) => {
    noteReached = resolve;
  });
  const aborted = new Promise<void>((resolve) => {
    noteAborted = resolve;
  });
  const routes: Route[] = [
    {
      method: "POST",
      path: "/api/v1/echo/:name",
      role: "operator",
      handler: ({ params, body, user }) => ({ status: 201, body: { name: params.name, body, user } }),
    },
    {
      method: "GET",
      path: "/api/v1/stream",
      role: "viewer",
      handler: ({ signal }) => {
        signal.addEventListener("abort", noteAborted);
        const body = new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("data: first\n\n")),
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    },
  ];
  routes.push({
    method: "GET",
    path: "/api/v1/silent",
    role: "viewer",
    handler: ({ signal }) =>
      new Promise((resolve) => {
        noteReached();
        signal.addEventListener("abort", () => {
          noteAborted();
          resolve({ body: null });
        });
      }),
  });
  const server = serverWith(routes, options);
  const dashboard = Object.assign((request: Request) => server.handle(request), {
    basePath: options.basePath ?? "",
    close: () => server.close(),
  });
  return { dashboard, aborted, reached };
}

/** Listens on a free port of this machine; returns the origin. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function serve(listener: RequestListener): Promise<{ origin: string; stop(): Promise<void> }> {
  const server = createServer(listener);
  const origin = await listening(server);
  return { origin, stop: () => closed(server) };
}

export function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
