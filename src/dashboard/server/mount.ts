import { connectionOf } from "./connection.ts";

/** Position of a request relative to the mount of the dashboard. */
export interface MountPath {
  /** Path of the mount as it stands in the URL; empty at the root of a server, or if a proxy removed it. */
  base: string;
  /** Path below the mount, percent-encoded; empty if the slash behind the mount is missing. */
  path: string;
}

/** Splits the path of a request at the mount. Without `basePath` at its beginning, a proxy has removed it. */
export function mountPathOf(request: Request, basePath: string): MountPath {
  const { pathname } = new URL(request.url);
  const { mount } = connectionOf(request);
  let at = below(pathname, mount) ?? { base: "", path: pathname };
  const inner = below(at.path, basePath);
  if (inner) at = { base: at.base + inner.base, path: inner.path };
  return at;
}

/** Splits a path at its base; null: it is elsewhere. */
export function below(path: string, base: string): MountPath | null {
  if (base === "") return { base, path };
  return path === base || path.startsWith(`${base}/`) ? { base, path: path.slice(base.length) } : null;
}
