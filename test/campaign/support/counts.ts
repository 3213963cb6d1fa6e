import { setTimeout as pause } from "node:timers/promises";
import { type Footprint, MOST_LEFT } from "./growth.ts";
import { tickNames } from "./load.ts";
import type { Target } from "./target.ts";

const CONNECTIONS: Record<string, string> = {
  postgres: "select count(*) as n from pg_stat_activity where backend_type = 'client backend'",
  mysql: "select count(*) as n from information_schema.processlist",
  mariadb: "select count(*) as n from information_schema.processlist",
};

/** Tables whose rows do not depend on the number of runs. SQLite has no gates and no receipts. */
const BOUNDED = ["workers", "exchanges", "rates", "batch_counts"];
const BOUNDED_ON_SERVERS = ["gates", "receipts"];

async function count(target: Pick<Target, "connect">, statement: string): Promise<number> {
  const access = await target.connect();
  try {
    const [row] = await access.all<{ n: number }>(statement);
    return Number(row!.n);
  } finally {
    await access.close();
  }
}

/** Connections to the server, or to one server of a cluster; null: there is none. */
export async function countConnections(target: Target): Promise<number | null> {
  const statement = CONNECTIONS[target.kind];
  return statement === undefined ? null : count(target, statement);
}

/** A server notices within some seconds that a client has gone. */
export async function connectionsLeft(
  target: Target,
  idle: number | null,
): Promise<Footprint["connections"]> {
  if (idle === null) return null;
  let left = 0;
  for (let look = 0; look < 20; look++) {
    left = (await countConnections(target))!;
    if (left <= MOST_LEFT) break;
    await pause(500);
  }
  return { idle, left };
}

const ticking = tickNames.map((name) => `'${name}'`).join();

/** The attempts of ticks that are under way. */
export async function runningTicks(target: Pick<Target, "connect">): Promise<string[]> {
  const access = await target.connect();
  try {
    const rows = await access.all<{ token: string }>(
      `select lease_token as token from punctual_runs where state = 2 and name in (${ticking})`,
    );
    return rows.map(({ token }) => token);
  } finally {
    await access.close();
  }
}

/** Number of runs and sealed batches that have not finished; of ticks, only of these attempts. */
export function countUnfinished(target: Pick<Target, "connect">, ticks: string[]): Promise<number> {
  const tokens = ticks.map((token) => `'${token}'`).join() || "''";
  return count(
    target,
    `select (select count(*) from punctual_runs where name not in (${ticking}) or lease_token in (${tokens})) +
       (select count(*) from punctual_batches where sealed_at is not null and finished_at is null) as n`,
  );
}

export async function countRows(target: Target): Promise<Record<string, number>> {
  const tables = target.kind === "sqlite" ? BOUNDED : [...BOUNDED, ...BOUNDED_ON_SERVERS];
  const rows: Record<string, number> = {};
  for (const table of tables)
    rows[table] = await count(target, `select count(*) as n from punctual_${table}`);
  return rows;
}
