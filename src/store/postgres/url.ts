import { PunctualError, show } from "../../errors.ts";

export interface PostgresUrl {
  /** What is pg's to understand. */
  connectionString: string;
  schema: string | null;
  pool: number;
  notify: boolean;
  /** Milliseconds that a connection may take. */
  connectTimeout: number;
}

const OWN = ["schema", "pool", "notify", "connect_timeout"];

const POOL = 10;
const CONNECT_TIMEOUT = 10;

/** `postgres://user:password@host:port/database?…` with everything pg takes, and what is ours. */
export function parsePostgresUrl(url: string): PostgresUrl {
  const [address = "", query = ""] = url.split(/\?(.*)/s);
  const parts = query.split("&").filter((part) => part !== "");
  const isOurs = (part: string) => OWN.includes(part.split("=")[0]!);
  const own = new URLSearchParams(parts.filter(isOurs).join("&"));
  // The rest is left as it was written: pg has its own way of reading it.
  const rest = parts.filter((part) => !isOurs(part)).join("&");
  return {
    connectionString: rest === "" ? address : `${address}?${rest}`,
    schema: schemaName(own.get("schema")),
    pool: wholeNumber("pool", own.get("pool"), POOL),
    notify: onOrOff("notify", own.get("notify")),
    connectTimeout: wholeNumber("connect_timeout", own.get("connect_timeout"), CONNECT_TIMEOUT) * 1000,
  };
}

/** Quoted it may be nearly anything; a dot or a quote would make two names of one. */
export function schemaName(name: string | null | undefined): string | null {
  if (name === null || name === undefined) return null;
  if (/^[a-z_][a-z0-9_$-]{0,62}$/i.test(name)) return name;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected schema=<name> of at most 63 letters, digits and underscores in the PostgreSQL URL, got ${show(name)}.`,
  );
}

function wholeNumber(what: string, text: string | null, otherwise: number): number {
  if (text === null) return otherwise;
  const number = Number(text);
  if (/^\d{1,6}$/.test(text) && number > 0) return number;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected ${what}=<whole number from 1> in the PostgreSQL URL, got ${show(text)}.`,
  );
}

function onOrOff(what: string, text: string | null): boolean {
  if (text === null || text === "on") return true;
  if (text === "off") return false;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected ${what}=on or ${what}=off in the PostgreSQL URL, got ${show(text)}.`,
  );
}
