import { connectionOf } from "./connection.ts";

/** Position of a request relative to the mount of the dashboard. */
export interface Place {
  /** Path of the mount as it stands in the URL; empty at the root of a server, or if a proxy removed it. */
  base: string;
  /** Path below the mount, percent-encoded; empty if the slash behind the mount is missing. */
  path: string;
}

/** Finds the place of a request. A path that does not begin with `basePath` counts as stripped by a proxy. */
export function placeOf(request: Request, basePath: string): Place {
  const { pathname } = new URL(request.url);
  const { mount } = connectionOf(request);
  let place = below(pathname, mount) ?? { base: "", path: pathname };
  const inner = below(place.path, basePath);
  if (inner) place = { base: place.base + inner.base, path: inner.path };
  return place;
}

/** Returns the place of a path below a base; null: it is elsewhere. */
export function below(path: string, base: string): Place | null {
  if (base === "") return { base, path };
  return path === base || path.startsWith(`${base}/`) ? { base, path: path.slice(base.length) } : null;
}
