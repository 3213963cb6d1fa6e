import type { Server } from "node:http";
import { PunctualError } from "../errors.ts";
import type { Address } from "./address.ts";

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

const LISTEN_FAULTS: Record<string, string> = {
  EADDRINUSE: "the port is in use. Stop the other process, or choose another port",
  EACCES: "permission denied. Choose a port above 1023",
  EADDRNOTAVAIL: "this machine does not have that address",
  ENOTFOUND: "the host name cannot be resolved",
};
