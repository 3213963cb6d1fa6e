import mysql from "mysql2";
import { createConnection } from "mysql2/promise";
import type { Store } from "../../../src/store/store.ts";
import { MANY, type Plan } from "./plan.ts";

/** Rows that a connection has read, by the server's counters: by key, in order, at random, in scans, in sorts. */
const COUNTERS =
  "show session status where variable_name like 'Handler\\_read\\_%' or variable_name in ('Sort_rows')";

/** Otherwise the storage engine filters rows itself, and they are not counted. */
const COUNT_ALL = "set session optimizer_switch = 'index_condition_pushdown=off'";

/** A command of the driver: its text, and the callback of its answer. */
interface Command {
  constructor: { name: string };
  sql?: string;
  /** Of a prepared statement; else they are in the text. */
  parameters?: SqlValue[];
  onResult?: (error: unknown, rows?: unknown, ...rest: unknown[]) => void;
  once(event: "end", listener: () => void): void;
}

interface Driver {
  query(sql: string, done: (error: unknown, rows: unknown) => void): Command;
  addCommand(command: Command): Command;
}

/** Every command of every connection goes through this function. */
const driver = Object.getPrototypeOf(mysql.Connection.prototype) as Driver;

type Counts = Map<string, number>;

type SqlValue = string | number | null;

/** Measures every statement that is run while `work` runs on a new store. */
export async function recordPlans(
  url: string,
  connect: () => Promise<Store>,
  work: (store: Store) => Promise<void>,
): Promise<Plan[]> {
  const plans = new Map<string, Plan>();
  const parameters = new Map<string, SqlValue[] | undefined>();
  const own = new Set<string>([COUNTERS, COUNT_ALL]);
  const costs = new WeakMap<Driver, Counts>();
  const counted: Promise<unknown>[] = [];
  const { addCommand } = driver;

  const count = (connection: Driver): Promise<Counts> => {
    const counts = new Promise<Counts>((resolve, reject) => {
      connection.query(COUNTERS, (error, rows) => (error ? reject(error) : resolve(toCounts(rows))));
    });
    counted.push(counts);
    return counts;
  };

  /** Counting reads rows too: the difference between two counts in a row. */
  const prepare = (connection: Driver) => {
    connection.query(COUNT_ALL, () => {});
    const pair = [count(connection), count(connection)];
    counted.push(Promise.all(pair).then(([a, b]) => costs.set(connection, difference(a!, b!))));
  };

  driver.addCommand = function (this: Driver, command) {
    const { sql, onResult } = command;
    if (sql === undefined || own.has(sql) || !["Query", "Execute"].includes(command.constructor.name)) {
      return addCommand.call(this, command);
    }
    if (!costs.has(this)) {
      costs.set(this, new Map());
      prepare(this);
    }
    const plan = plans.get(sql) ?? { statement: sql, steps: [], faults: [], rows: 0, read: 0 };
    plans.set(sql, plan);
    parameters.set(sql, command.parameters);
    if (onResult) {
      command.onResult = (error, rows, ...rest) => {
        plan.rows += rowsIn(rows);
        onResult.call(command, error, rows, ...rest);
      };
    }
    const before = count(this);
    addCommand.call(this, command);
    const after = count(this);
    counted.push(
      Promise.all([before, after]).then(([a, b]) => {
        const read = difference(costs.get(this)!, difference(a, b));
        const steps = [...read].filter(([, rows]) => rows > 0).map(([name, rows]) => `${name}: ${rows}`);
        plan.steps.push(...steps);
        for (const rows of read.values()) plan.read += rows;
        const most = MANY * statementsOf(sql).length;
        if ([...read.values()].some((rows) => rows > most)) plan.faults.push(steps.join(", "));
      }),
    );
    return command;
  };
  try {
    await work(await connect());
    await Promise.all(counted);
  } finally {
    driver.addCommand = addCommand;
  }
  await explain(url, [...plans.values()], parameters);
  return [...plans.values()];
}

/** One packet may have several statements, which are counted together. */
function statementsOf(sql: string): string[] {
  return sql.split("; ");
}

function toCounts(rows: unknown): Counts {
  const pairs = rows as { Variable_name: string; Value: string }[];
  return new Map(pairs.map((row) => [row.Variable_name, Number(row.Value)]));
}

function difference(from: Counts, to: Counts): Counts {
  return new Map([...to].map(([name, value]) => [name, value - (from.get(name) ?? 0)]));
}

/** The rows of one statement are a list of objects; those of several, a list of such lists. */
function rowsIn(result: unknown): number {
  if (!Array.isArray(result)) return 0;
  return result.some(Array.isArray)
    ? result.filter(Array.isArray).reduce((sum, rows) => sum + rows.length, 0)
    : result.length;
}

/** Adds the server's plan of each statement that reads too many rows. */
async function explain(
  uri: string,
  plans: Plan[],
  parameters: Map<string, SqlValue[] | undefined>,
): Promise<void> {
  const connection = await createConnection({ uri });
  for (const { statement, faults } of plans.filter(({ faults }) => faults.length > 0)) {
    for (const one of statementsOf(statement)) {
      const text = mysql.format(`explain ${one}`, parameters.get(statement) ?? []);
      faults.push(JSON.stringify(await connection.query(text).then(([rows]) => rows, String)));
    }
  }
  await connection.end();
}
