import { fromSegment, toSegment } from "../../../src/dashboard/segment.ts";

/** Returns the path below the base, with a leading slash; null if the path is elsewhere. */
export function withoutBase(base: string, pathname: string): string | null {
  if (`${pathname}/` === base) return "/";
  if (!pathname.startsWith(base)) return null;
  return `/${pathname.slice(base.length)}`;
}

/** Returns a path of the page, such as `/runs?q=state:failed`, as an address on the server. */
export function withBase(base: string, path: string): string {
  return base + path.replace(/^\/+/, "");
}

/**
 * Matches a path with a pattern such as `/runs/:id`, and returns the decoded values of its `:name` segments. Names may
 * contain any character: a slash in a name arrives as `%2F`.
 */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = segments(pattern);
  const given = segments(path);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    if (segment.startsWith(":")) params[segment.slice(1)] = decode(given[index]!);
    else if (segment !== given[index]) return null;
  }
  return params;
}

/** Returns a path with parameters and query filled in: `pathTo("/jobs/:name", { name: "a/b" })` is `/jobs/a%2Fb`. */
export function pathTo(
  pattern: string,
  params: Record<string, string | number> = {},
  query: Record<string, string | number | null | undefined> = {},
): string {
  const path = pattern.replace(/:(\w+)/g, (_, name) => toSegment(String(params[name])));
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const search = pairs.map(([name, value]) => `${name}=${encodeQuery(String(value))}`).join("&");
  return search ? `${path}?${search}` : path;
}

/** Encodes what must be encoded, and leaves `:`, `,` and `*` readable: people paste these addresses in chats. */
function encodeQuery(value: string): string {
  return encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%20/g, "+");
}

function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function decode(segment: string): string {
  try {
    return fromSegment(segment);
  } catch {
    return segment;
  }
}
