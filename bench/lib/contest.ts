import { median, ratio } from "./statistics.ts";

export interface Metric {
  name: string;
  unit: string;
}

/** Figures of one measurement, by metric. */
export type Measured = Record<string, number>;

/** One line of a table: a scheduler in one configuration. */
export interface Entry {
  name: string;
  measure(): Promise<Measured>;
}

/** A bound of one figure, or of its ratio to the same figure of another entry. */
export interface Goal {
  entry: string;
  metric: string;
  versus?: string;
  least?: number;
  most?: number;
}

/** Entries that are measured in turns, and compared by ratios within one round. */
export interface Contest {
  id: string;
  title: string;
  metrics: Metric[];
  /** The entry to which the ratios of the first metric refer. */
  base: string;
  entries: Entry[];
  goals?: Goal[];
}

export interface Row {
  name: string;
  /** The figure of each round, by metric. */
  values: Record<string, number[]>;
}

export interface Verdict {
  text: string;
  value: number;
  reached: boolean;
}

export interface Result extends Omit<Contest, "entries" | "goals"> {
  rows: Row[];
  verdicts: Verdict[];
}

/** Measures all entries in turn, `rounds` times. An entry that fails is left out, with its message. */
export async function holdContest(contest: Contest, rounds: number): Promise<Result> {
  const { entries, goals = [], ...rest } = contest;
  const rows = entries.map(({ name }): Row => ({ name, values: {} }));
  const failed = new Set<Entry>();
  for (let round = 0; round < rounds; round++) {
    for (const [index, entry] of entries.entries()) {
      if (failed.has(entry)) continue;
      try {
        const figures = await entry.measure();
        const { values } = rows[index]!;
        for (const [metric, value] of Object.entries(figures)) {
          values[metric] = [...(values[metric] ?? []), value];
        }
      } catch (error) {
        failed.add(entry);
        console.error(`${contest.id}: ${entry.name} failed: ${(error as Error).message}`);
        process.exitCode = 1;
      }
    }
  }
  const complete = rows.filter((_, index) => !failed.has(entries[index]!));
  return { ...rest, rows: complete, verdicts: goals.flatMap((goal) => judge(goal, rest.metrics, complete)) };
}

/** Nothing where an entry is missing, because its peer is not installed. */
function judge({ entry, metric, versus, least, most }: Goal, metrics: Metric[], rows: Row[]): Verdict[] {
  const valuesOf = (name: string) => rows.find((row) => row.name === name)?.values[metric];
  const values = valuesOf(entry);
  const base = versus === undefined ? undefined : valuesOf(versus);
  if (!values || (versus !== undefined && !base)) return [];
  const value = base ? ratio(values, base) : median(values);
  const unit = versus === undefined ? ` ${metrics.find(({ name }) => name === metric)!.unit}` : "×";
  const bound = least === undefined ? `at most ${most}` : `at least ${least}`;
  const text = `${entry}, ${metric}: ${bound}${unit}${versus === undefined ? "" : ` ${versus}`}`;
  return [{ text, value, reached: value >= (least ?? -Infinity) && value <= (most ?? Infinity) }];
}

/** The ratio of a row's first metric to the base's; undefined for the base itself. */
export function ratioToBase({ base, metrics, rows }: Result, row: Row): number | undefined {
  const metric = metrics[0]!.name;
  const reference = rows.find(({ name }) => name === base)?.values[metric];
  const values = row.values[metric];
  return row.name === base || !reference || !values ? undefined : ratio(values, reference);
}
