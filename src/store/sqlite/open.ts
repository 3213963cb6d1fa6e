import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { formatValue, PunctualError } from "../../errors.ts";
import type { DatabaseSource, OpenOptions } from "../open.ts";
import { PendingCalls } from "../pending-calls.ts";
import { retryPending } from "../sql/retry.ts";
import { BUSY_WAITS, SqliteDatabase } from "./database.ts";
import { isBusy, translate } from "./errors.ts";
import { SqliteStore } from "./store.ts";

/**
 * Longest SQLite itself waits for a lock, in milliseconds. It blocks the event loop; longer waits are between tries.
 */
const BUSY_TIMEOUT = 5;

/** Longest wait for other processes that open the same file, in milliseconds. */
const OPEN_TIMEOUT = 5000;

const SYNCHRONOUS = ["full", "normal", "off"];

/** Opens a store on a URL, or on a `DatabaseSync` of the caller's, which stays open when the store closes. */
export async function openSqlite(source: DatabaseSource, options: OpenOptions): Promise<SqliteStore> {
  const { pending = new PendingCalls() } = options;
  if (typeof source === "string") {
    const { path, synchronous } = parseUrl(source);
    return new SqliteStore({
      ...options,
      db: new SqliteDatabase(await openFile(path, synchronous, pending), pending),
      path: path === ":memory:" ? null : path,
      closesHandle: true,
    });
  }
  const theirs = source as DatabaseSync;
  const file = theirs.location();
  // A second handle on the file keeps their transactions apart from ours. A database in memory has only one handle.
  const db = new SqliteDatabase(file === null ? theirs : await openFile(file, "full", pending), pending);
  return new SqliteStore({ ...options, db, path: file, closesHandle: file !== null });
}

async function openFile(path: string, synchronous: string, pending: PendingCalls): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  if (path !== ":memory:" && !existsSync(dirname(path))) {
    throw new PunctualError(
      "DATABASE_MISSING",
      `The folder of the SQLite database ${path} does not exist. Create the folder ${dirname(path)} first.`,
    );
  }
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT });
    await setUp(db, synchronous, pending);
    return db;
  } catch (error) {
    db?.close();
    throw translate(error, path);
  }
}

/**
 * Turns WAL mode on, which needs the file exclusively for a moment: several processes may start at once. It waits
 * between tries, because SQLite's own wait would block the event loop and with it the handling of signals.
 */
async function setUp(db: DatabaseSync, synchronous: string, pending: PendingCalls): Promise<void> {
  await retryPending(async () => db.exec("pragma journal_mode = wal"), {
    pending,
    isTransient: isBusy,
    translate: (error) => error,
    retryFor: () => OPEN_TIMEOUT,
    waits: BUSY_WAITS,
  });
  db.exec(`pragma synchronous = ${synchronous}`);
}

function parseUrl(url: string): { path: string; synchronous: string } {
  const [target, query = ""] = url.replace(/^sqlite:/, "").split(/\?(.*)/s);
  const params = new URLSearchParams(query);
  for (const key of params.keys()) {
    if (key !== "synchronous") {
      throw new PunctualError(
        "DATABASE_URL",
        `The SQLite URL has an unknown parameter ${formatValue(key)}. Known: synchronous (${SYNCHRONOUS.join(", ")}).`,
      );
    }
  }
  const synchronous = params.get("synchronous") ?? "full";
  if (!SYNCHRONOUS.includes(synchronous)) {
    throw new PunctualError(
      "DATABASE_URL",
      `Expected synchronous in the SQLite URL to be one of ${SYNCHRONOUS.join(", ")}, got ${formatValue(synchronous)}.`,
    );
  }
  if (!target) {
    throw new PunctualError(
      "DATABASE_URL",
      'The SQLite URL names no file. Write "sqlite:./jobs.db" or "sqlite::memory:".',
    );
  }
  if (target === ":memory:") return { path: target, synchronous };
  // "sqlite:///abs/path" and "sqlite:/abs/path" name the same file.
  return { path: resolve(target.replace(/^\/\/(?=\/)/, "")), synchronous };
}
