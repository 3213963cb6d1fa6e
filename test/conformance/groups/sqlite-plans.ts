import { DatabaseSync, StatementSync } from "node:sqlite";
import type { Store } from "../../../src/store/store.ts";
import type { Plan } from "../support/plan.ts";

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
  const given = new Map<string, number>();
  const { prepare } = DatabaseSync.prototype;
  const { all, get } = StatementSync.prototype;
  const texts = new WeakMap<StatementSync, string>();
  const count = (statement: StatementSync, rows: number) => {
    const text = texts.get(statement);
    if (text !== undefined) given.set(text, given.get(text)! + rows);
  };
  DatabaseSync.prototype.prepare = function (text, ...rest) {
    const statement = prepare.call(this, text, ...rest);
    texts.set(statement, text);
    given.set(text, given.get(text) ?? 0);
    return statement;
  };
  StatementSync.prototype.all = function (...params) {
    const rows = all.apply(this, params as Parameters<typeof all>);
    count(this, rows.length);
    return rows;
  };
  StatementSync.prototype.get = function (...params) {
    const row = get.apply(this, params as Parameters<typeof get>);
    count(this, row === undefined ? 0 : 1);
    return row;
  };
  try {
    await work(store);
  } finally {
    DatabaseSync.prototype.prepare = prepare;
    Object.assign(StatementSync.prototype, { all, get });
  }
  const db = new DatabaseSync(path);
  try {
    return [...given].map(([statement, rows]) => {
      const explained = db.prepare(`explain query plan ${statement}`).all() as { detail: string }[];
      const steps = explained.map(({ detail }) => detail);
      return { statement, rows, steps, faults: steps.filter((step) => isFault(step, statement)) };
    });
  } finally {
    db.close();
  }
}

/** Scans whose size does not grow with the backlog. */
const SMALL = [
  // A parameter of the statement itself.
  /^SCAN \w+ VIRTUAL TABLE/,
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
