import type { Entry } from "../../support/journal.ts";

/** Rows that the fleet has left in the database, and resources it has used. */
export interface Footprint {
  /** Number of rows of each table, after a prune. */
  rows: Record<string, number>;
  /** Connections to the server while workers and supervisors idle, and after they have ended; null: no server. */
  connections: { idle: number; left: number } | null;
}

/** Dead workers and receipts are kept for ten minutes, and pruned every minute. */
const KEPT_FOR = 12 * 60_000;

/** Rows of `gates`. */
const GATES = 256;

/** Three workers, a supervisor with two children, and the campaign: each has a pool of ten at most, and listens. */
const MOST_IDLE = 77;

/** The campaign's own connections. */
export const MOST_LEFT = 12;

/** In MiB. A process of the fleet takes 100 to 350. */
const MOST_MEMORY = 700;

/** Reports of a process's memory, one every five seconds, from which on its growth is judged. */
const JUDGED_FROM = 120;

/** Returns a sentence for each table, process or pool that grew too much. */
export function growthIn(entries: readonly Entry[], { rows, connections }: Footprint): string[] {
  return [...tables(entries, rows), ...pools(connections), ...memory(entries)];
}

function tables(entries: readonly Entry[], rows: Record<string, number>): string[] {
  const end = entries.at(-1)?.at ?? 0;
  const late = (what: string) => entries.filter((one) => one.what === what && one.at > end - KEPT_FOR).length;
  const most: Record<string, number> = {
    gates: GATES,
    workers: late("began"),
    exchanges: 4 * late("began"),
    // A request whose answer was lost is sent again.
    receipts: 2 * late("request") + 100,
  };
  return Object.entries(most).flatMap(([table, limit]) => {
    const count = rows[table] ?? 0;
    return count > limit ? [`the table ${table} has ${count} rows, where ${limit} may be`] : [];
  });
}

function pools(connections: Footprint["connections"]): string[] {
  if (!connections) return [];
  const { idle, left } = connections;
  return [
    ...(idle > MOST_IDLE
      ? [`the fleet has ${idle} connections while it idles, where ${MOST_IDLE} may be`]
      : []),
    ...(left > MOST_LEFT ? [`${left} connections are left of processes that have ended`] : []),
  ];
}

function memory(entries: readonly Entry[]): string[] {
  const reports = Map.groupBy(
    entries.filter(({ what }) => what === "figures"),
    ({ by, pid }) => `${by} (${pid})`,
  );
  return [...reports].flatMap(([who, all]) => {
    const sizes = all.map(({ ids }) => ids![0]!);
    const most = Math.max(...sizes);
    if (most > MOST_MEMORY) return [`${who} took ${most} MiB of memory`];
    if (sizes.length < JUDGED_FROM) return [];
    const quarter = Math.floor(sizes.length / 4);
    const [early, late] = [median(sizes.slice(quarter, 2 * quarter)), median(sizes.slice(-quarter))];
    return late > 1.5 * early + 50 ? [`${who} grew from ${early} to ${late} MiB of memory`] : [];
  });
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
