import type { IncomingMessage, ServerResponse } from "node:http";
import { setConnection } from "./connection.ts";
import type { Dashboard } from "./dashboard.ts";
import { below } from "./mount.ts";

/** A handler for `node:http`, and a middleware for Express, Connect and Nest. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => Promise<void>;

/** Properties that frameworks add to a request. */
interface FrameworkRequest extends IncomingMessage {
  /** URL before a framework removed the path of the mount. */
  originalUrl?: string;
  /** Body that a parser of the framework has read. */
  body?: unknown;
}

/**
 * Adapts a dashboard to `node:http`, Express, Fastify, Koa and Nest. With `next`, requests outside of `basePath` go
 * to the next middleware.
 */
export function toNodeHandler(dashboard: Dashboard): NodeHandler {
  return async (incoming, outgoing, next) => {
    const { path, mount } = pathsOf(incoming);
    if (next && mount === "" && !below(path.split("?")[0]!, dashboard.basePath)) return next();
    const gone = new AbortController();
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) gone.abort();
    });
    let request: Request;
    try {
      request = toRequest(incoming, path, gone.signal);
    } catch {
      outgoing.writeHead(400, { "content-type": "text/plain", connection: "close" }).end("bad request\n");
      return;
    }
    setConnection(request, { address: incoming.socket.remoteAddress, mount });
    const response = await dashboard(request);
    try {
      await send(response, incoming, outgoing);
    } catch {
      // The stream failed or the client has gone: an incomplete response is all that can be sent.
      outgoing.destroy();
    }
  };
}

/** Returns path and query of the whole URL, and the part of the path that a framework has removed for the handler. */
function pathsOf(incoming: FrameworkRequest): { path: string; mount: string } {
  const { url = "/", originalUrl = url } = incoming;
  const [full, inner] = [originalUrl.split("?")[0]!, url.split("?")[0]!];
  if (full === inner) return { path: originalUrl, mount: "" };
  // Express gives "/" for "/mount" and for "/mount/".
  const mount = full.endsWith(inner) ? full.slice(0, -inner.length) : full;
  return { path: originalUrl, mount: mount.replace(/\/$/, "") };
}

function toRequest(incoming: FrameworkRequest, path: string, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    // Names with a colon are those of HTTP/2.
    if (value === undefined || name.startsWith(":")) continue;
    for (const one of [value].flat()) headers.append(name, one);
  }
  const host = incoming.headers.host ?? incoming.headers[":authority"] ?? "localhost";
  const method = incoming.method ?? "GET";
  const hasBody = method !== "GET" && method !== "HEAD";
  // Not new URL(path, base): a path that begins with two slashes would name another host.
  return new Request(`http://${host}${path.startsWith("/") ? path : `/${path}`}`, {
    method,
    headers,
    signal,
    ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
  });
}

function bodyOf(incoming: FrameworkRequest): ReadableStream<Uint8Array> | string {
  const { body } = incoming;
  if (body !== undefined && incoming.readableEnded)
    return typeof body === "string" ? body : JSON.stringify(body);
  let chunks: AsyncIterator<Uint8Array> | null = null;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunks ??= incoming.iterator({ destroyOnReturn: false });
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    // Nothing is read for a request that is refused by its headers.
    { highWaterMark: 0 },
  );
}

async function send(response: Response, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) {
    if (name !== "set-cookie") outgoing.setHeader(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) outgoing.setHeader("set-cookie", cookies);
  const isHead = incoming.method === "HEAD";
  if (response.body === null || isHead) {
    await response.body?.cancel();
    outgoing.end();
    return;
  }
  const isStream = !response.headers.has("content-length");
  // The client of a stream waits for its headers.
  if (isStream) outgoing.flushHeaders();
  const reader = response.body.getReader();
  const closed = new Promise<void>((resolve) => outgoing.once("close", resolve));
  void closed.then(() => reader.cancel().catch(() => {}));
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.closed) break;
    if (outgoing.write(value)) continue;
    await Promise.race([new Promise((resolve) => outgoing.once("drain", resolve)), closed]);
  }
  outgoing.end();
}
