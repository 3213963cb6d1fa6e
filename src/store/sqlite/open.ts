import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { PunctualError, show } from "../../errors.ts";
import type { DatabaseSource, OpenOptions } from "../open.ts";
import { Pending } from "../pending.ts";
import { patiently } from "../sql/patience.ts";
import { Connection } from "./connection.ts";
import { isBusy, translate } from "./errors.ts";
import { SqliteStore } from "./store.ts";

/** A longer wait would block the event loop: the connection waits between tries instead. */
const BUSY_TIMEOUT = 5;

/** How long to wait for others who open the same file. */
const OPENING = 5000;

const SYNCHRONOUS = ["full", "normal", "off"];

export async function openSqlite(source: DatabaseSource, options: OpenOptions): Promise<SqliteStore> {
  const { pending = new Pending() } = options;
  if (typeof source === "string") {
    const { path, synchronous } = parseUrl(source);
    return new SqliteStore({
      ...options,
      connection: new Connection(await openFile(path, synchronous, pending), pending),
      path: path === ":memory:" ? null : path,
      closesHandle: true,
    });
  }
  const theirs = source as DatabaseSync;
  const file = theirs.location();
  // A file is opened a second time, so that their transactions and ours never meet on one handle; memory has only the one.
  const connection = new Connection(file === null ? theirs : await openFile(file, "full", pending), pending);
  return new SqliteStore({ ...options, connection, path: file, closesHandle: file !== null });
}

async function openFile(path: string, synchronous: string, pending: Pending): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  if (path !== ":memory:" && !existsSync(dirname(path))) {
    throw new PunctualError(
      "DATABASE_MISSING",
      `The folder of the SQLite database ${path} does not exist. Create ${dirname(path)} first.`,
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
 * Turning WAL on needs the file to itself for a moment; several processes may start at once. The wait for the others is
 * between tries: SQLite's own would block the event loop, and with it the signals that end the process.
 */
async function setUp(db: DatabaseSync, synchronous: string, pending: Pending): Promise<void> {
  await patiently(async () => db.exec("pragma journal_mode = wal"), {
    pending,
    isPassing: isBusy,
    translate: (error) => error,
    patience: () => OPENING,
    waits: { first: 1, longest: 25 },
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
        `The SQLite URL has an unknown parameter ${show(key)}. Known: synchronous (${SYNCHRONOUS.join(", ")}).`,
      );
    }
  }
  const synchronous = params.get("synchronous") ?? "full";
  if (!SYNCHRONOUS.includes(synchronous)) {
    throw new PunctualError(
      "DATABASE_URL",
      `synchronous must be one of ${SYNCHRONOUS.join(", ")}, got ${show(synchronous)}.`,
    );
  }
  if (!target) {
    throw new PunctualError(
      "DATABASE_URL",
      'The SQLite URL names no file. Write "sqlite:./jobs.db" or "sqlite::memory:".',
    );
  }
  if (target === ":memory:") return { path: target, synchronous };
  // "sqlite:///abs/path" and "sqlite:/abs/path" are the same file.
  return { path: resolve(target.replace(/^\/\/(?=\/)/, "")), synchronous };
}
