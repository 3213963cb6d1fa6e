import { formatValue, PunctualError } from "../../errors.ts";
import { closeNames } from "../../validate/names.ts";

export interface PostgresUrl {
  /** The URL without Punctual's own parameters. */
  connectionString: string;
  schema: string | null;
  pool: number;
  notify: boolean;
  /** Longest that connecting may take, in milliseconds. */
  connectTimeout: number;
}

const OWN_PARAMETERS = ["schema", "pool", "notify", "connect_timeout"];

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
  sslcrldir sslidentity sslpassword sslsni statement_cache_size target_session_attrs tcp_user_timeout
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
  return {
    connectionString: rest === "" ? address : `${address}?${rest}`,
    schema: schemaName(own.get("schema")),
    pool: wholeNumber("pool", own.get("pool"), DEFAULT_POOL),
    notify: onOrOff("notify", own.get("notify")),
    connectTimeout:
      wholeNumber("connect_timeout", own.get("connect_timeout"), DEFAULT_CONNECT_TIMEOUT) * 1000,
  };
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
