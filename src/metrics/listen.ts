import type { Server } from "node:http";
import { formatValue, PunctualError } from "../errors.ts";

export interface Address {
  host: string;
  port: number;
}

/** Default host: reachable from this machine only. */
export const LOOPBACK = "127.0.0.1";

/** Parses `4481`, `0.0.0.0:4481`, `localhost:4481` or `[::1]:4481`. Port 0 means any free port. */
export function toAddress(text: string | number): Address {
  const match = /^(?:(?:\[([0-9a-f:.%]+)\]|([a-z0-9._-]+)):)?(\d{1,5})$/i.exec(String(text).trim());
  const port = Number(match?.[3]);
  if (match && port <= 65_535) return { host: match[1] ?? match[2] ?? LOOPBACK, port };
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected a port from 0 to 65535, optionally with a host, such as "4481" or "0.0.0.0:4481", got ${formatValue(text)}.`,
  );
}

const LISTEN_FAULTS: Record<string, string> = {
  EADDRINUSE: "the port is in use. Stop the other process, or choose another port",
  EACCES: "permission denied. Choose a port above 1023",
  EADDRNOTAVAIL: "this machine does not have that address",
  ENOTFOUND: "the host name cannot be resolved",
};

/** Listens on an address. `who` begins the message of CANNOT_LISTEN: "The probe". */
export function listen(server: Server, { host, port }: Address, who: string): Promise<void> {
  return new Promise((listening, refused) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = LISTEN_FAULTS[cause.code ?? ""] ?? cause.message;
      refused(
        new PunctualError("CANNOT_LISTEN", `${who} cannot listen on ${host}:${port}: ${why}.`, { cause }),
      );
    });
    server.listen({ host, port }, () => listening());
  });
}

/** Returns the URL of a server. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
