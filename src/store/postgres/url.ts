import { formatValue, PunctualError } from "../../errors.ts";
import { closeNames } from "../../validate/names.ts";
import { type ListedHost, listHosts } from "../server/host-list.ts";

export interface PostgresUrl {
  /** The hosts, each with its URL without Punctual's own parameters. */
  hosts: ListedHost[];
  schema: string | null;
  pool: number;
  notify: boolean;
  /** Longest that connecting may take, in milliseconds. */
  connectTimeout: number;
}

const OWN_PARAMETERS = ["schema", "pool", "notify", "connect_timeout", "target_session_attrs"];

/** The values of libpq under which a host that can be written is acceptable. Punctual uses only such a host. */
const SESSION_ATTRS = ["read-write", "primary", "any"];

/** Parameters that pg reads. It exports no such list, and ignores unknown ones. */
const PG_PARAMETERS = `
  application_name binary client_encoding db enableChannelBinding encoding fallback_application_name host
  idle_in_transaction_session_timeout lock_timeout options password port query_timeout replication ssl sslcert sslkey
  sslmode sslnegotiation sslrootcert statement_timeout user uselibpqcompat
`
  .trim()
  .split(/\s+/);

/** Parameters that libpq, Prisma and poolers read: a URL that is shared with them may contain these. */
const FOREIGN_PARAMETERS = `
  channel_binding connection_limit dbname gssencmode hostaddr keepalives keepalives_count keepalives_idle
  keepalives_interval passfile pgbouncer pool_timeout requiressl service socket_timeout sslaccept sslcompression sslcrl
  sslcrldir sslidentity sslpassword sslsni statement_cache_size tcp_user_timeout
`
  .trim()
  .split(/\s+/);

const DEFAULT_POOL = 10;
/** In seconds. */
const DEFAULT_CONNECT_TIMEOUT = 10;

/** Parses `postgres://user:password@host:port/database?…` with the parameters of pg and Punctual's own. */
export function parsePostgresUrl(url: string): PostgresUrl {
  const [address = "", query = ""] = url.split(/\?(.*)/s);
  const parts = query.split("&").filter((part) => part !== "");
  for (const part of parts) refuseMisspelt(part.split("=")[0]!);
  const isOurs = (part: string) => OWN_PARAMETERS.includes(part.split("=")[0]!);
  const own = new URLSearchParams(parts.filter(isOurs).join("&"));
  // The rest is not decoded and encoded again: pg parses it differently from URLSearchParams.
  const rest = parts.filter((part) => !isOurs(part)).join("&");
  checkSessionAttrs(own.get("target_session_attrs"));
  for (const part of parts) refuseHostParameter(part);
  return {
    hosts: listHosts(rest === "" ? address : `${address}?${rest}`, "PostgreSQL", 5432),
    schema: schemaName(own.get("schema")),
    pool: wholeNumber("pool", own.get("pool"), DEFAULT_POOL),
    notify: onOrOff("notify", own.get("notify")),
    connectTimeout:
      wholeNumber("connect_timeout", own.get("connect_timeout"), DEFAULT_CONNECT_TIMEOUT) * 1000,
  };
}

function checkSessionAttrs(value: string | null): void {
  if (value === null || SESSION_ATTRS.includes(value)) return;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected target_session_attrs=read-write or no target_session_attrs in the PostgreSQL URL, got ${formatValue(value)}. Punctual writes, so it uses the one host that can be written.`,
  );
}

/** libpq accepts a list also as a parameter; pg would take it for one name. */
function refuseHostParameter(part: string): void {
  if (!/^(host|port|hostaddr)=.*(,|%2c)/i.test(part)) return;
  throw new PunctualError(
    "DATABASE_URL",
    `The PostgreSQL URL lists hosts in the parameter "${part.split("=")[0]}". Write them before the database: "postgres://user:password@a,b:5433,c/database".`,
  );
}

/** Unknown parameters pass through; near-misses of known ones are rejected as typos. */
function refuseMisspelt(name: string): void {
  if ([...OWN_PARAMETERS, ...PG_PARAMETERS, ...FOREIGN_PARAMETERS].includes(name)) return;
  const close = closeNames(name, [...OWN_PARAMETERS, ...PG_PARAMETERS]).find(
    (one) => Math.abs(one.length - name.length) <= 2,
  );
  if (close === undefined) return;
  throw new PunctualError(
    "DATABASE_URL",
    `The PostgreSQL URL has an unknown parameter ${formatValue(name)}. Did you mean "${close}"?`,
  );
}

/**
 * Checks a schema's name. It is quoted in statements, but code that splits table names at a dot or quotes them again
 * would misread a dot or a quote, and `$$` ends a dollar quote.
 */
export function schemaName(name: string | null | undefined): string | null {
  if (name === null || name === undefined) return null;
  if (/^(?!.*\$\$)[a-z_][a-z0-9_$-]{0,62}$/i.test(name)) return name;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected a PostgreSQL schema name of at most 63 letters, digits, underscores and hyphens, such as schema=jobs in the URL, got ${formatValue(name)}.`,
  );
}

/** Returns the URL with its parameter `schema` set. */
export function withSchema(url: string, schema: string): string {
  if (parsePostgresUrl(url).schema === schemaName(schema)) return url;
  const [address = "", query = ""] = url.split(/\?(.*)/s);
  const others = query.split("&").filter((part) => part !== "" && !/^schema(=|$)/.test(part));
  return `${address}?${[...others, `schema=${schema}`].join("&")}`;
}

function wholeNumber(what: string, text: string | null, otherwise: number): number {
  if (text === null) return otherwise;
  const number = Number(text);
  if (/^\d{1,6}$/.test(text) && number > 0) return number;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected ${what}=<whole number from 1> in the PostgreSQL URL, got ${formatValue(text)}.`,
  );
}

function onOrOff(what: string, text: string | null): boolean {
  if (text === null || text === "on") return true;
  if (text === "off") return false;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected ${what}=on or ${what}=off in the PostgreSQL URL, got ${formatValue(text)}.`,
  );
}
