import type { AddressInfo } from "node:net";
import { userInfo } from "node:os";
import { formatValue, PunctualError } from "../../errors.ts";
import { LOOPBACK, listen, urlOf } from "../../metrics/listen.ts";
import type { Punctual } from "../../punctual.ts";
import { childIdentity } from "../../supervisor/child-identity.ts";
import { type Clock, systemClock } from "../../time.ts";
import { isLoopback } from "./connection.ts";
import { dashboard } from "./dashboard.ts";
import { Login, newToken } from "./login.ts";
import { toNodeHandler } from "./node-handler.ts";
import type { DashboardOptions } from "./options.ts";

/** Options of `startDashboard()`. */
export interface StartDashboardOptions extends Omit<DashboardOptions, "auth" | "allowedHosts"> {
  /**
   * As of `dashboard()`. Default: any host if `host` is not local. A foreign site whose name points here has neither
   * the token nor the cookie, which belongs to the name under which the user signed in.
   */
  allowedHosts?: readonly string[] | undefined;
  /** Default: 4480. 0: any free port. */
  port?: number | undefined;
  /** Default: 127.0.0.1, which is reachable from this machine only. Other addresses require `token`. */
  host?: string | undefined;
  /** Secret of at least 16 characters that opens the dashboard. Default: a random one for this start. */
  token?: string | undefined;
  /** Source of time, for tests. */
  clock?: Clock | undefined;
}

/** A dashboard on a server of its own. */
export interface StartedDashboard {
  /** Address without the token. */
  readonly url: string;
  /** Address that signs a browser in. It contains the token, unless the options named it. */
  readonly signInUrl: string;
  readonly host: string;
  readonly port: number;
  /** Returns an address that signs one browser in, once. Other users of the machine may see it among the processes. */
  newSignInUrl(): string;
  /** Stops listening and closes every connection and stream. Does not stop the instance. */
  stop(): Promise<void>;
}

export const DEFAULT_PORT = 4480;

/** Shortest token that `token` may name. */
const SHORTEST_TOKEN = 16;

/**
 * Serves the dashboard of an instance on a port of this machine. It also answers while the database is unavailable.
 * Does not keep the process alive. Does not listen in a child process of `supervise()`.
 */
export async function startDashboard(
  jobs: Punctual,
  options: StartDashboardOptions = {},
): Promise<StartedDashboard> {
  const { port = DEFAULT_PORT, host = LOOPBACK, token, clock = systemClock, ...rest } = options;
  checkToken(host, token);
  const basePath = rest.basePath?.replace(/\/+$/, "") ?? "";
  const addressOf = (bound: number) => `${urlOf(host, bound)}${basePath}/`;
  if (childIdentity()) {
    const url = addressOf(port);
    return { url, signInUrl: url, host, port, newSignInUrl: () => url, stop: async () => {} };
  }
  const { createServer } = await import("node:http");
  const server = createServer();
  // Each open tab holds one connection for its events.
  Object.assign(server, { headersTimeout: 10_000, requestTimeout: 60_000, maxConnections: 500 });
  await listen(server, { host, port }, "The dashboard");
  server.unref();
  const bound = (server.address() as AddressInfo).port;
  const secret = token ?? newToken();
  const login = new Login({
    token: secret,
    basePath,
    cookieName: `punctual-${bound}`,
    identity: { user: token === undefined ? userName() : "token", role: "admin" },
    clock,
  });
  const served = dashboard(jobs, {
    ...rest,
    allowedHosts: rest.allowedHosts ?? (isLocal(host) ? [] : ["*"]),
    auth: login.authenticate,
  });
  const handle = toNodeHandler(served);
  server.on("request", (request, response) => void handle(request, response));
  const url = addressOf(bound);
  return {
    url,
    signInUrl: token === undefined ? `${url}?token=${secret}` : url,
    host,
    port: bound,
    newSignInUrl: () => `${url}?token=${login.oneTimeToken()}`,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await served.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Throws INVALID_OPTION if other machines could reach a dashboard whose token only this terminal knows. */
export function checkToken(host: string = LOOPBACK, token?: string | undefined): void {
  if (token === undefined && !isLocal(host)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `The dashboard would be reachable from other machines on ${formatValue(host)}, which requires a token. Pass --token-env with the name of a variable that has one, or leave --host out.`,
    );
  }
  if (token !== undefined && (typeof token !== "string" || token.length < SHORTEST_TOKEN)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Expected a token for the dashboard of at least ${SHORTEST_TOKEN} characters. Create one: openssl rand -base64 32`,
    );
  }
}

/** Whether only this machine reaches a server that listens on the host. */
function isLocal(host: string): boolean {
  return host === "localhost" || isLoopback(host);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the system's list, as in some containers.
    return "local";
  }
}
