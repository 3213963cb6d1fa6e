import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync, StatementSync } from "node:sqlite";
import type { Store } from "../../../src/store/store.ts";
import type { Plan } from "../support/plan.ts";

/** Linux counts here what this thread has read from files. Elsewhere pages are not counted. */
const READ_BY_THREAD = "/proc/thread-self/io";

const PAGE = 4096;

/** A cache of few pages, so that reading a page again is counted again. */
const SMALL_CACHE = "pragma cache_size = 1";

/**
 * Records every statement that a new connection compiles while `work` runs on it: it has compiled none before, so
 * these are the statements that were run.
 */
export async function recordPlans(
  path: string,
  connect: () => Promise<Store>,
  work: (store: Store) => Promise<void>,
): Promise<Plan[]> {
  const store = await connect();
  const run = new Map<string, { rows: number; read: number }>();
  const { prepare } = DatabaseSync.prototype;
  const { all, get } = StatementSync.prototype;
  const texts = new WeakMap<StatementSync, string>();
  /** Executes a statement, and adds up the rows that it returns and the pages that it reads. */
  const counting = <Result>(statement: StatementSync, execute: () => Result): Result => {
    const before = bytesRead();
    const result = execute();
    const counts = run.get(texts.get(statement) ?? "");
    if (counts) {
      counts.read += Math.floor((bytesRead() - before) / PAGE);
      counts.rows += Array.isArray(result) ? result.length : result === undefined ? 0 : 1;
    }
    return result;
  };
  DatabaseSync.prototype.prepare = function (text, ...rest) {
    this.exec(SMALL_CACHE);
    const statement = prepare.call(this, text, ...rest);
    texts.set(statement, text);
    if (!run.has(text)) run.set(text, { rows: 0, read: 0 });
    return statement;
  };
  StatementSync.prototype.all = function (...params) {
    return counting(this, () => all.apply(this, params as Parameters<typeof all>));
  };
  StatementSync.prototype.get = function (...params) {
    return counting(this, () => get.apply(this, params as Parameters<typeof get>));
  };
  try {
    await work(store);
  } finally {
    DatabaseSync.prototype.prepare = prepare;
    Object.assign(StatementSync.prototype, { all, get });
  }
  const db = new DatabaseSync(path);
  try {
    return [...run].map(([statement, counts]) => {
      const explained = db.prepare(`explain query plan ${statement}`).all() as { detail: string }[];
      const steps = explained.map(({ detail }) => detail);
      return { statement, ...counts, steps, faults: steps.filter((step) => isFault(step, statement)) };
    });
  } finally {
    db.close();
  }
}

function bytesRead(): number {
  if (!existsSync(READ_BY_THREAD)) return 0;
  return Number(/^rchar: (\d+)/.exec(readFileSync(READ_BY_THREAD, "latin1"))![1]);
}

/** Scans whose size does not grow with the backlog. */
const SMALL = [
  // A parameter of the statement itself.
  /^SCAN \w+ VIRTUAL TABLE/,
  // The values of a single insert.
  /^SCAN CONSTANT ROW$/,
  // One row for each paused or limited queue.
  /^SCAN \w+_queues$/,
  // Partial indexes: paused jobs, running runs.
  /^SCAN \w+ USING (COVERING )?INDEX \w+_(paused|counted|leased)$/,
];

/** The first row of an index in which every row matches. */
const FIRST = /^SCAN \w+ USING (COVERING )?INDEX \w+_(scheduled|ready|free_lanes|limited)$/;

function isFault(step: string, statement: string): boolean {
  if (step.includes("TEMP B-TREE") || step.includes("AUTOMATIC")) return true;
  if (!step.startsWith("SCAN")) return false;
  if (FIRST.test(step) && statement.endsWith("limit 1")) return false;
  return !SMALL.some((small) => small.test(step));
}
