import { fromSegment } from "../segment.ts";
import { HttpProblem } from "./problem.ts";
import type { Route } from "./route.ts";

/** The route of a request, with the values of its path. */
export interface Match {
  route: Route;
  params: Record<string, string>;
}

interface Pattern {
  route: Route;
  segments: readonly string[];
}

/** Finds routes by method and path. A fixed segment wins over a parameter: `/runs/bulk` over `/runs/:id`. */
export class Router {
  readonly #patterns: readonly Pattern[];

  constructor(routes: readonly Route[]) {
    const isParameter = (segments: readonly string[]) =>
      segments.map((segment) => (segment.startsWith(":") ? "1" : "0")).join("");
    this.#patterns = routes
      .map((route) => ({ route, segments: route.path.split("/") }))
      .sort((a, b) => isParameter(a.segments).localeCompare(isParameter(b.segments)));
  }

  /** Returns the route of a request. Throws 404 for an unknown path, 405 for an unknown method. */
  find(method: string, path: string): Match {
    const given = path.split("/");
    const wanted = method === "HEAD" ? "GET" : method;
    const allowed = new Set<string>();
    for (const { route, segments } of this.#patterns) {
      if (!matches(segments, given)) continue;
      if (route.method === wanted) return { route, params: paramsOf(segments, given) };
      allowed.add(route.method);
      if (route.method === "GET") allowed.add("HEAD");
    }
    if (allowed.size > 0) throw methodNotAllowed(method, [...allowed]);
    throw new HttpProblem({ code: "NO_ROUTE", detail: `The API has no path ${JSON.stringify(path)}.` });
  }
}

export function methodNotAllowed(method: string, allowed: readonly string[]): HttpProblem {
  const allow = [...allowed].sort().join(", ");
  return new HttpProblem({
    code: "METHOD_NOT_ALLOWED",
    detail: `${method} is not possible here; expected ${allow}.`,
    headers: { allow },
  });
}

function matches(pattern: readonly string[], given: readonly string[]): boolean {
  return (
    pattern.length === given.length &&
    pattern.every((segment, index) =>
      segment.startsWith(":") ? given[index] !== "" : segment === given[index],
    )
  );
}

function paramsOf(pattern: readonly string[], given: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [index, segment] of pattern.entries()) {
    if (segment.startsWith(":")) params[segment.slice(1)] = decode(given[index]!);
  }
  return params;
}

function decode(segment: string): string {
  try {
    return fromSegment(segment);
  } catch {
    throw new HttpProblem({
      code: "INVALID_PATH",
      detail: `The path has a wrong percent-encoding: ${JSON.stringify(segment)}.`,
    });
  }
}
