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
