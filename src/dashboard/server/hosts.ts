/** Names of this machine, which no DNS entry of another domain can take. */
const LOCAL = ["localhost", "*.localhost", "127.0.0.1", "[::1]"];

/** Returns host and port that a request was sent to, as in its `Host` header. */
export function hostOf(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

/** Whether the name of a host, which may have a port, is local or in the list. */
export function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "");
  return [...LOCAL, ...allowed].some((pattern) => {
    if (pattern === "*" || pattern === name || pattern === host) return true;
    return pattern.startsWith("*.") && name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1;
  });
}
