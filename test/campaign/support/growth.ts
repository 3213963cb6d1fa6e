import type { Entry } from "../../support/journal.ts";
import { KEYS, RATES } from "./load.ts";

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

/** Four workers, a supervisor with two children, and the campaign: each has a pool of ten at most, and listens. */
const MOST_IDLE = 88;

/** Jobs and named limits with a rate have a bucket each, and those with a rate per key one for each key. */
const BUCKETS =
  Object.keys(RATES.job).length + Object.keys(RATES.named).length + KEYS * Object.keys(RATES.key).length;

/** Rows of counts of a batch that is left open: one process adds, and its 12 members may end in as many workers. */
const COUNTS_OF_OPEN = 13;

/** The campaign's own connections. */
export const MOST_LEFT = 12;

/** In MiB. A process of the fleet takes 100 to 350. */
const MOST_MEMORY = 700;

/**
 * Reports of a process's memory, one every five seconds, from which on its growth is judged: six minutes. In its first
 * minutes a process grows to its usual size, which may be 350 MiB. In most campaigns only the veteran lives for so
 * long.
 */
const JUDGED_FROM = 72;

/** Returns a sentence for each table, process or pool that grew too much. `open`: batches that have not finished. */
export function growthIn(
  entries: readonly Entry[],
  { rows, connections }: Footprint,
  open: number,
): string[] {
  return [...tables(entries, rows, open), ...pools(connections), ...memory(entries)];
}

function tables(entries: readonly Entry[], rows: Record<string, number>, open: number): string[] {
  const end = entries.at(-1)?.at ?? 0;
  const late = (what: string) => entries.filter((one) => one.what === what && one.at > end - KEPT_FOR).length;
  const most: Record<string, number> = {
    gates: GATES,
    rates: BUCKETS,
    batch_counts: COUNTS_OF_OPEN * open,
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

/** The reports of each process. */
function reportsIn(entries: readonly Entry[]): Map<string, Entry[]> {
  const reports = entries.filter(({ what }) => what === "figures");
  return Map.groupBy(reports, ({ by, pid }) => `${by} (${pid})`);
}

/** Returns the number of processes whose growth is judged. */
export function judgedIn(entries: readonly Entry[]): number {
  return [...reportsIn(entries).values()].filter(({ length }) => length >= JUDGED_FROM).length;
}

function memory(entries: readonly Entry[]): string[] {
  return [...reportsIn(entries)].flatMap(([who, all]) => {
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
