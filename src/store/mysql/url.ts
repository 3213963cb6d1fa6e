import { PunctualError, show } from "../../errors.ts";
import { closeNames } from "../../validate/names.ts";

const POOL = 10;
const CONNECT_TIMEOUT = 10_000;
const KEEP_ALIVE = 10_000;

/** What mysql2 takes of a URL and Punctual leaves to it. */
const THEIRS = [
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

/** `mysql://user:password@host:port/database?…` as the options of a mysql2 pool: with everything mysql2 takes, and `pool`. */
export function parseMysqlUrl(url: string): Record<string, unknown> {
  // The error of a URL that cannot be read has all of it, and the password: it is no cause to hand on.
  const parsed = URL.parse(url);
  if (!parsed) {
    throw refusal(
      "The URL of the MySQL database cannot be read. Characters such as @, / and # in a password have to be percent-encoded.",
    );
  }
  const database = decoded(parsed.pathname.slice(1), "database");
  if (database === "") {
    throw refusal('The MySQL URL names no database. Write it behind the host: "mysql://user@host/database".');
  }
  const options: Record<string, unknown> = {};
  let pool = POOL;
  for (const [key, value] of parsed.searchParams) {
    if (key === "pool" || key === "connectionLimit") pool = wholeNumber(key, value);
    else if (key === "charset") checkCharset(value);
    else if (THEIRS.includes(key)) options[key] = jsonOrText(value);
    else {
      const close = closeNames(key, ["pool", "connectionLimit", ...THEIRS])[0];
      throw refusal(
        `The MySQL URL has an unknown parameter ${show(key)}.${close ? ` Did you mean "${close}"?` : ""} Known: pool, ${THEIRS.join(", ")}.`,
      );
    }
  }
  return {
    connectTimeout: CONNECT_TIMEOUT,
    keepAliveInitialDelay: KEEP_ALIVE,
    ...options,
    // The host of an IPv6 address stands in brackets.
    host: decoded(parsed.hostname, "host").replace(/^\[(.*)\]$/, "$1") || "localhost",
    port: parsed.port === "" ? 3306 : Number(parsed.port),
    user: decoded(parsed.username, "user") || "root",
    password: decoded(parsed.password, "password"),
    database,
    charset: "utf8mb4",
    decimalNumbers: true,
    enableKeepAlive: true,
    connectionLimit: pool,
    // Every statement that has a caller's values in it is prepared, and then there can be only one.
    multipleStatements: true,
    // Fewer would start a timer that keeps the process alive.
    maxIdle: pool,
    // Stacks are taken for each statement otherwise.
    trace: false,
  };
}

function checkCharset(charset: string): void {
  if (/^utf8mb4(_|$)/i.test(charset)) return;
  throw refusal(`Expected no charset but utf8mb4 in the MySQL URL, got ${show(charset)}. Leave it out.`);
}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal(`The ${what} in the MySQL URL is not percent-encoded as it should be: write % as %25.`);
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
  throw refusal(`Expected ${what}=<whole number from 1> in the MySQL URL, got ${show(text)}.`);
}

function refusal(message: string): PunctualError {
  return new PunctualError("DATABASE_URL", message);
}
