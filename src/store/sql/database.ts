export type Param = string | number | bigint | null;

/** What the statements that all databases share are written against: `?` for parameters, nothing else assumed. */
export interface Sql {
  all<Row>(text: string, ...params: Param[]): Promise<Row[]>;
  run(text: string, ...params: Param[]): Promise<void>;
}

export interface Database extends Sql {
  /** Behind a `select … limit`: locks the rows and passes over those that another has locked. */
  readonly skipLocked: string;
  /** Whether the list in the column `tags` has the text of the one parameter. */
  readonly tagged: string;
  /** All of it or nothing; nobody else's statement on this connection comes in between. */
  transaction<Result>(work: (tx: Sql) => Promise<Result>): Promise<Result>;
  /** `insert … values (?, …), …` that overwrites the named columns where the key exists; a name alone takes the new value. */
  upsert(
    table: string,
    key: string[],
    columns: string[],
    update: (string | { column: string; to: string })[],
    rows?: number,
  ): string;
}

const TABLES = [
  "runs",
  "history",
  "attempts",
  "jobs",
  "schedules",
  "queues",
  "workers",
  "minutes",
  "migrations",
] as const;

export type Tables = Record<(typeof TABLES)[number], string> & { prefix: string };

export function tablesWith(prefix: string): Tables {
  const named = Object.fromEntries(TABLES.map((table) => [table, prefix + table]));
  return { ...(named as Record<(typeof TABLES)[number], string>), prefix };
}

export async function first<Row>(rows: Promise<Row[]>): Promise<Row | null> {
  return (await rows)[0] ?? null;
}

/** Placeholders for `in (…)`. */
export function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}

/** Splits work so that no statement grows with the size of what it is given. */
export function* inGroups<Item>(items: readonly Item[], size = 500): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
