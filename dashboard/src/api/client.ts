import type { Api, Problem } from "../../../src/dashboard/api/contract.ts";
import { toSegment } from "../../../src/dashboard/segment.ts";
import { base } from "../state/bootstrap.ts";

export type Route = keyof Api;
export type GetRoute = Extract<Route, `GET ${string}`>;
export type Response<R extends Route> = Api[R]["response"];

type ParamsOf<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Record<Name, string | number> & ParamsOf<Tail>
    : Record<Rest, string | number>
  : unknown;
type QueryOf<R extends Route> = Api[R] extends { query: infer Query } ? { query?: Query } : unknown;
type BodyOf<R extends Route> = Api[R] extends { body: infer Body } ? { body: Body } : unknown;
type PathOf<R extends Route> = R extends `${string}:${string}` ? { params: ParamsOf<R> } : unknown;

/** Arguments of a route: `params` for the `:name` segments of its path, `query`, `body`. */
export type Input<R extends Route> = PathOf<R> & QueryOf<R> & BodyOf<R>;

/** Arguments of `request` behind the route: the input may be left out if none of its parts is required. */
type Arguments<R extends Route> =
  Record<never, never> extends Input<R>
    ? [input?: Input<R>, signal?: AbortSignal]
    : [input: Input<R>, signal?: AbortSignal];

/** An error response of the API; code `OFFLINE` if the server could not be reached. */
export class ApiProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ApiProblem";
    this.problem = problem;
  }
}

interface AnyInput {
  params?: Record<string, string | number>;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
}

/** Returns the URL of a route with its parameters filled in. */
export function urlOf(route: Route, { params = {}, query = {} }: AnyInput = {}): string {
  const path = route
    .slice(route.indexOf(" ") + 2)
    .replace(/:(\w+)/g, (_, name) => toSegment(String(params[name])));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(name, String(value));
  return `${base}api/v1/${path}${search.size > 0 ? `?${search}` : ""}`;
}

/** Sends one request. Throws an `ApiProblem` for every response that is no success. */
export async function request<R extends Route>(
  route: R,
  ...[input, signal]: Arguments<R>
): Promise<Response<R>> {
  const method = route.slice(0, route.indexOf(" "));
  const { body, ...rest } = (input ?? {}) as AnyInput;
  const init: RequestInit = { method, headers: { accept: "application/json" }, signal: signal ?? null };
  if (method !== "GET") {
    init.headers = { accept: "application/json", "content-type": "application/json" };
    init.body = JSON.stringify(body ?? {});
  }
  let response: globalThis.Response;
  try {
    response = await fetch(urlOf(route, rest), init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiProblem(offline());
  }
  if (response.ok) return (response.status === 204 ? {} : await response.json()) as Response<R>;
  throw new ApiProblem(await problemOf(response));
}

async function problemOf(response: globalThis.Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  try {
    const problem = JSON.parse(text) as Problem;
    if (typeof problem.code === "string") return problem;
  } catch {
    // A proxy between the page and the server answers in a format of its own.
  }
  return {
    type: "about:blank",
    title: response.statusText || "Error",
    status: response.status,
    code: response.status === 401 ? "UNAUTHENTICATED" : "UNEXPECTED_RESPONSE",
    detail: `The server answered with status ${response.status}.`,
    hint: response.status === 401 ? "Sign in again, then reload the page." : null,
  };
}

function offline(): Problem {
  return {
    type: "about:blank",
    title: "Offline",
    status: 0,
    code: "OFFLINE",
    detail: "The dashboard's server cannot be reached.",
    hint: "The page tries again by itself.",
  };
}

/** Returns the problem of a rejected request; errors of the page itself become a problem, too. */
export function toProblem(error: unknown): Problem {
  if (error instanceof ApiProblem) return error.problem;
  return {
    ...offline(),
    title: "Error",
    code: "PAGE_ERROR",
    detail: String((error as Error)?.message ?? error),
    hint: null,
  };
}
