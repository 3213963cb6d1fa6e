/** Facts about a request that only its adapter knows. */
export interface Connection {
  /** Address of the socket's other end: the client, or a proxy. */
  address: string | undefined;
  /** Path at which a framework mounted the handler, as it stands in the request's URL. */
  mount: string;
}

const connections = new WeakMap<Request, Connection>();

export function setConnection(request: Request, connection: Connection): void {
  connections.set(request, connection);
}

export function connectionOf(request: Request): Connection {
  return connections.get(request) ?? { address: undefined, mount: "" };
}

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i;

/** Whether an address belongs to this machine only. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(address.replace(/^\[(.*)\]$/, "$1"));
}

/**
 * Whether a socket or a forwarding header shows that the request comes from another machine. False proves nothing: a
 * proxy on this machine need not send the headers.
 */
export function isFromElsewhere(request: Request): boolean {
  const { address } = connectionOf(request);
  const forwarded = request.headers.get("x-forwarded-for")?.split(",") ?? [];
  const addresses = [address, ...forwarded.map((one) => one.trim())].filter((one) => one !== undefined);
  return request.headers.has("forwarded") || !addresses.every(isLoopback);
}
