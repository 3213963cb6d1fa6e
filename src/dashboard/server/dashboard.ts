import type { Punctual } from "../../punctual.ts";
import { systemClock } from "../../time.ts";
import { version } from "../../version.ts";
import { createApi } from "../api/api.ts";
import type { Bootstrap, Meta, Overview } from "../api/contract.ts";
import { secured } from "./headers.ts";
import { type MountPath, mountPathOf } from "./mount.ts";
import { type AnswerContext, OpenRequests } from "./open-requests.ts";
import { type DashboardOptions, type DashboardSettings, toSettings } from "./options.ts";
import { problemPage, RELOAD_SCRIPT, renderPage, rootOf } from "./page.ts";
import { PageFiles } from "./page-files.ts";
import { METRICS_PATH, OPEN_PATHS, ProbePages } from "./probe-pages.ts";
import { HttpProblem, problemResponse, titleOf, toProblem } from "./problem.ts";
import {
  authenticate,
  checkContentType,
  checkHost,
  checkOrigin,
  checkRole,
  readJson,
} from "./request-checks.ts";
import type { JsonResult, MountedApi, User } from "./route.ts";
import { methodNotAllowed, Router } from "./router.ts";

/**
 * The dashboard as a Fetch handler: it serves the page and the API below `api/v1`. Frameworks on `Request` and
 * `Response` call it as it is; `toNodeHandler()` adapts it to `node:http`.
 */
export interface Dashboard {
  /** Answers one request. Never rejects. Further arguments of a framework are ignored. */
  (request: Request, ...rest: unknown[]): Promise<Response>;
  /** Path of the mount that the options name. */
  readonly basePath: string;
  /** Ends open streams, and answers further requests with 503. Does not stop the instance. */
  close(): Promise<void>;
}

/** Milliseconds that the page waits for data before it is sent without. */
const BOOTSTRAP_TIME = 250;

/**
 * Returns the web dashboard of an instance.
 *
 * ```ts
 * app.use("/admin/jobs", toNodeHandler(dashboard(jobs, { auth: (request) => signedIn(request) })));
 * ```
 */
export function dashboard(jobs: Punctual, options: DashboardOptions = {}): Dashboard {
  const settings = toSettings(options);
  const server = new DashboardServer(jobs, settings, createApi(jobs, settings));
  const handler = (request: Request) => server.handle(request);
  return Object.assign(handler, { basePath: settings.basePath, close: () => server.close() });
}

/** Checks each request and passes it to its route or to the page. */
export class DashboardServer {
  readonly #jobs: Punctual;
  readonly #settings: DashboardSettings;
  readonly #api: MountedApi;
  readonly #router: Router;
  readonly #files = new PageFiles();
  readonly #open = new OpenRequests();
  readonly #probe: ProbePages;

  constructor(jobs: Punctual, settings: DashboardSettings, api: MountedApi) {
    this.#jobs = jobs;
    this.#settings = settings;
    this.#api = api;
    this.#router = new Router(api.routes);
    this.#probe = new ProbePages(jobs);
  }

  async handle(request: Request): Promise<Response> {
    let isApi = true;
    try {
      if (this.#open.isClosed) throw closed();
      const at = mountPathOf(request, this.#settings.basePath);
      isApi = isApiPath(at.path);
      if (OPEN_PATHS.includes(at.path)) return await this.#text(request, () => this.#probe.open(at.path));
      return await this.#admit(request, at);
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status === 500)
        this.#settings.logger.error(`dashboard: ${request.method} failed: ${stackOf(error)}`);
      return secured(isApi ? problemResponse(problem) : problemPageResponse(problem));
    }
  }

  async close(): Promise<void> {
    this.#open.close();
    await this.#api.close();
  }

  /** Answers a request for one of the texts for programs. */
  async #text(request: Request, answer: () => Promise<Response>): Promise<Response> {
    checkReads(request);
    const response = await answer();
    return secured(request.method === "HEAD" ? new Response(null, response) : response);
  }

  /** The only way to a route, a file or the metrics: every request passes these checks, in this order. */
  async #admit(request: Request, at: MountPath): Promise<Response> {
    checkHost(request, this.#settings);
    const user = await authenticate(request, this.#settings);
    if (user instanceof Response) return user;
    if (at.path === METRICS_PATH) return this.#text(request, () => this.#probe.metrics());
    if (!isApiPath(at.path)) return secured(await this.#page(request, at, user));
    const { route, params } = this.#router.find(request.method, at.path);
    checkRole(user, route.role);
    const isWrite = route.method !== "GET";
    if (isWrite) {
      checkOrigin(request);
      checkContentType(request);
    }
    const body = isWrite ? await readJson(request) : undefined;
    const query = new URL(request.url).searchParams;
    return this.#open.run(request, async (answering) => {
      const context = { jobs: this.#jobs, params, query, body, user, signal: answering.signal, request };
      return secured(toResponse(await route.handler(context), answering, request));
    });
  }

  async #page(request: Request, at: MountPath, user: User): Promise<Response> {
    checkReads(request);
    const name = at.path.slice(1);
    if (name !== "index.html" && (await this.#files.has(name))) return this.#files.response(name, request);
    if (/^assets\/[\w-]+\.js$/.test(name)) return reloadScript();
    if (name.startsWith("assets/"))
      throw new HttpProblem({
        code: "NO_FILE",
        detail: `The page has no file ${JSON.stringify(name)}.`,
      });
    const html = await this.#files.index();
    const { title, environment, readOnly } = this.#settings;
    const page = renderPage(html, {
      root: rootOf(at),
      title,
      environment,
      version: version(),
      user,
      readOnly,
      ...(await this.#firstData(request, at.path, user)),
    });
    return new Response(request.method === "HEAD" ? null : page, {
      headers: { "content-type": "text/html; charset=utf-8" },
    });
  }

  /** Returns answers of the API for the first paint; null for those that fail or take long. */
  async #firstData(
    request: Request,
    path: string,
    user: User,
  ): Promise<Pick<Bootstrap, "meta" | "overview">> {
    const late = new AbortController();
    const cancel = systemClock.after(BOOTSTRAP_TIME, () => late.abort(), { background: true });
    const overdue = new Promise<null>((resolve) => {
      late.signal.addEventListener("abort", () => resolve(null), { once: true });
    });
    const read = async (name: string): Promise<unknown> => {
      const route = this.#api.routes.find((one) => one.method === "GET" && one.path === `/api/v1/${name}`);
      if (!route) return null;
      const query = new URLSearchParams();
      const { signal } = late;
      const context = { jobs: this.#jobs, params: {}, query, body: undefined, user, signal, request };
      const { body, json } = (await route.handler(context)) as JsonResult;
      return json === undefined ? body : JSON.parse(json);
    };
    const inTime = (name: string) => Promise.race([read(name).catch(() => null), overdue]);
    // No redirect adds the slash: Next and others remove it with a redirect of their own.
    const isOverview = path === "/" || path === "";
    const both = Promise.all([inTime("meta"), isOverview ? inTime("overview") : null]);
    const [meta, overview] = (await both.finally(cancel)) as [Meta | null, Overview | null];
    return { meta, overview };
  }
}

function checkReads({ method }: Request): void {
  if (method !== "GET" && method !== "HEAD") throw methodNotAllowed(method, ["GET", "HEAD"]);
}

function isApiPath(path: string): boolean {
  return path === "/api" || path.startsWith("/api/");
}

function toResponse(result: JsonResult | Response, answering: AnswerContext, request: Request): Response {
  const isHead = request.method === "HEAD";
  if (result instanceof Response) {
    if (!isHead) return answering.stream(result);
    void result.body?.cancel();
    return new Response(null, result);
  }
  const { body, headers = {}, json = JSON.stringify(body) } = result;
  if (json === undefined) return new Response(null, { status: result.status ?? 204, headers });
  const bytes = Buffer.from(json);
  return new Response(isHead ? null : bytes, {
    status: result.status ?? 200,
    headers: {
      "content-type": "application/json",
      "content-length": String(bytes.byteLength),
      ...headers,
    },
  });
}

function problemPageResponse({ status, message, hint, headers }: HttpProblem): Response {
  const html = problemPage(`${status} ${titleOf(status)}`, [message, ...(hint === undefined ? [] : [hint])]);
  return new Response(html, { status, headers: { ...headers, "content-type": "text/html; charset=utf-8" } });
}

function closed(): HttpProblem {
  return new HttpProblem({ code: "CLOSED", detail: "The dashboard has been closed." });
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Browsers do not execute the body of a 404. */
function reloadScript(): Response {
  const headers = { "content-type": "text/javascript; charset=utf-8", "cache-control": "no-store" };
  return new Response(RELOAD_SCRIPT, { headers });
}
