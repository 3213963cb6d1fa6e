import { request as forward } from "node:http";
import { serve } from "./served.ts";

/** Path below which the proxy has its upstream. */
export const PREFIX = "/a/b";

export interface ProxyOptions {
  /** Whether the upstream gets the path without the prefix. */
  strips: boolean;
  /** Whether the upstream gets the Host header of the browser, or its own. */
  keepsHost: boolean;
}

/** A reverse proxy in front of a server. */
export function proxy(target: string, { strips, keepsHost }: ProxyOptions): ReturnType<typeof serve> {
  const { hostname, port, host } = new URL(target);
  return serve((incoming, outgoing) => {
    if (!incoming.url!.startsWith(PREFIX)) return void outgoing.writeHead(404).end();
    const path = strips ? incoming.url!.slice(PREFIX.length) || "/" : incoming.url!;
    const headers = { ...incoming.headers, ...(!keepsHost && { host }), "x-forwarded-for": "192.0.2.7" };
    const upstream = forward({ hostname, port, path, method: incoming.method, headers }, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
    });
    incoming.pipe(upstream);
    outgoing.on("close", () => upstream.destroy());
  });
}
