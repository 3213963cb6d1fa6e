import { PunctualError, show } from "../../errors.ts";
import { closeNames } from "../../validate/names.ts";

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

/** What pg reads. It has no list of them, and ignores the rest. */
const THEIRS = `
  application_name binary client_encoding db enableChannelBinding encoding fallback_application_name host
  idle_in_transaction_session_timeout lock_timeout options password port query_timeout replication ssl sslcert sslkey
  sslmode sslnegotiation sslrootcert statement_timeout user uselibpqcompat
`
  .trim()
  .split(/\s+/);

/** What others read, and a URL may have for them. */
const OTHERS = `
  channel_binding connection_limit dbname gssencmode hostaddr keepalives keepalives_count keepalives_idle
  keepalives_interval passfile pgbouncer pool_timeout requiressl service socket_timeout sslaccept sslcompression sslcrl
  sslcrldir sslidentity sslpassword sslsni statement_cache_size target_session_attrs tcp_user_timeout
`
  .trim()
  .split(/\s+/);

const POOL = 10;
const CONNECT_TIMEOUT = 10;

/** `postgres://user:password@host:port/database?…` with everything pg takes, and what is ours. */
export function parsePostgresUrl(url: string): PostgresUrl {
  const [address = "", query = ""] = url.split(/\?(.*)/s);
  const parts = query.split("&").filter((part) => part !== "");
  for (const part of parts) refuseMisspelt(part.split("=")[0]!);
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

/** Nobody can know all that may stand in a URL; but what is nearly one of the known is meant to be it. */
function refuseMisspelt(name: string): void {
  if ([...OWN, ...THEIRS, ...OTHERS].includes(name)) return;
  const close = closeNames(name, [...OWN, ...THEIRS]).find((one) => Math.abs(one.length - name.length) <= 2);
  if (close === undefined) return;
  throw new PunctualError(
    "DATABASE_URL",
    `The PostgreSQL URL has an unknown parameter ${show(name)}. Did you mean "${close}"?`,
  );
}

/** Quoted it may be nearly anything; a dot or a quote would make two names of one, and two dollars are a quote. */
export function schemaName(name: string | null | undefined): string | null {
  if (name === null || name === undefined) return null;
  if (/^(?!.*\$\$)[a-z_][a-z0-9_$-]{0,62}$/i.test(name)) return name;
  throw new PunctualError(
    "DATABASE_URL",
    `Expected the PostgreSQL schema as at most 63 letters, digits, underscores and hyphens, such as schema=jobs in the URL, got ${show(name)}.`,
  );
}

/** The same URL with the tables in this schema. */
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
