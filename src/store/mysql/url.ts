import { formatValue, PunctualError } from "../../errors.ts";
import { closeNames } from "../../validate/names.ts";
import { listHosts } from "../server/host-list.ts";

const DEFAULT_POOL = 10;
/** In milliseconds, as are all times that mysql2 takes. */
const DEFAULT_CONNECT_TIMEOUT = 10_000;
const DEFAULT_KEEP_ALIVE_DELAY = 10_000;

/** Parameters that are passed on to mysql2. */
const MYSQL2_PARAMETERS = [
  "compress",
  "connectAttributes",
  "connectTimeout",
  "debug",
  "disableEval",
  "enableCleartextPlugin",
  "insecureAuth",
  "keepAliveInitialDelay",
  "localAddress",
  "password1",
  "password2",
  "password3",
  "socketPath",
  "ssl",
];

/** A host of a URL, with the options of a mysql2 pool on it. */
export interface MysqlHost {
  name: string;
  options: Record<string, unknown>;
}

/** Parses a URL with one host, or with a list of hosts: `mysql://user:password@a,b:3307/database?…`. */
export function parseMysqlHosts(url: string): MysqlHost[] {
  const hosts = listHosts(url, "MySQL", 3306).map(({ name, url: one }) => ({
    name,
    options: parseMysqlUrl(one),
  }));
  if (hosts.length > 1 && hosts[0]!.options.socketPath !== undefined) {
    throw refusal("The MySQL URL has a list of hosts and socketPath. Remove one of the two.");
  }
  return hosts;
}

/**
 * Parses `mysql://user:password@host:port/database?…` with the parameters of mysql2 and `pool`. Returns the options of
 * a mysql2 pool.
 */
export function parseMysqlUrl(url: string): Record<string, unknown> {
  // Not `new URL()`: its error contains the URL, and with it the password.
  const parsed = URL.parse(url);
  if (!parsed) {
    throw refusal(
      "The MySQL URL cannot be parsed. Percent-encode characters such as @, / and # in the password.",
    );
  }
  const database = decoded(parsed.pathname.slice(1), "database");
  if (database === "") {
    throw refusal('The MySQL URL names no database. Write it after the host: "mysql://user@host/database".');
  }
  const options: Record<string, unknown> = {};
  let pool = DEFAULT_POOL;
  for (const [key, value] of parsed.searchParams) {
    if (key === "pool" || key === "connectionLimit") pool = wholeNumber(key, value);
    else if (key === "charset") checkCharset(value);
    else if (MYSQL2_PARAMETERS.includes(key)) options[key] = jsonOrText(value);
    else {
      const close = closeNames(key, ["pool", "connectionLimit", ...MYSQL2_PARAMETERS])[0];
      throw refusal(
        `The MySQL URL has an unknown parameter ${formatValue(key)}.${close ? ` Did you mean "${close}"?` : ""} Known: pool, ${MYSQL2_PARAMETERS.join(", ")}.`,
      );
    }
  }
  return {
    connectTimeout: DEFAULT_CONNECT_TIMEOUT,
    keepAliveInitialDelay: DEFAULT_KEEP_ALIVE_DELAY,
    ...options,
    // URL keeps the brackets around an IPv6 address.
    host: decoded(parsed.hostname, "host").replace(/^\[(.*)\]$/, "$1") || "localhost",
    port: parsed.port === "" ? 3306 : Number(parsed.port),
    user: decoded(parsed.username, "user") || "root",
    password: decoded(parsed.password, "password"),
    database,
    charset: "utf8mb4",
    decimalNumbers: true,
    enableKeepAlive: true,
    connectionLimit: pool,
    // No injection risk: values are parameters of prepared statements, which are always single ones, or hex literals.
    multipleStatements: true,
    // With a lower value mysql2 starts a timer that keeps the process alive.
    maxIdle: pool,
    // Otherwise mysql2 captures a stack trace for each statement.
    trace: false,
  };
}

function checkCharset(charset: string): void {
  if (/^utf8mb4(_|$)/i.test(charset)) return;
  throw refusal(
    `Expected charset=utf8mb4 or no charset in the MySQL URL, got ${formatValue(charset)}. Remove the parameter.`,
  );
}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal(`The ${what} in the MySQL URL is not percent-encoded correctly. Write % as %25.`);
  }
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function wholeNumber(what: string, text: string): number {
  const number = Number(text);
  if (/^\d{1,6}$/.test(text) && number > 0) return number;
  throw refusal(`Expected ${what}=<whole number from 1> in the MySQL URL, got ${formatValue(text)}.`);
}

function refusal(message: string): PunctualError {
  return new PunctualError("DATABASE_URL", message);
}
