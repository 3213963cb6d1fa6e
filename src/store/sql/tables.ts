const TABLES = [
  "runs",
  "history",
  "attempts",
  "logs",
  "jobs",
  "schedules",
  "aliases",
  "queues",
  "workers",
  "exchanges",
  "minutes",
  "rollups",
  "audit",
  "mutes",
  "batches",
  "batch_members",
  "batch_counts",
  "rates",
  "limits",
  "migrations",
  "gates",
  "ids",
  "receipts",
] as const;

export type Tables = Record<(typeof TABLES)[number], string> & { prefix: string };

export function tablesWith(prefix: string): Tables {
  const named = Object.fromEntries(TABLES.map((table) => [table, prefix + table]));
  return { ...(named as Record<(typeof TABLES)[number], string>), prefix };
}
