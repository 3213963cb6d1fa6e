// How long the reads of the dashboard, of `punctual status` and of `punctual why` take on large tables: with 5,000,000
// finished and 1,000,000 waiting runs, or as many as `--finished` and `--waiting` say, on SQLite and PostgreSQL.
// Milliseconds. `--url URL` measures in this database, and fills it only if it is empty. `--quick`: small tables.
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import pg from "pg";
import { Punctual } from "../../src/punctual.ts";
import { Databases } from "../lib/databases.ts";

const { values } = parseArgs({
  options: {
    finished: { type: "string" },
    waiting: { type: "string" },
    url: { type: "string" },
    quick: { type: "boolean" },
  },
});
const FINISHED = Number(values.finished ?? (values.quick ? 50_000 : 5_000_000));
const WAITING = Number(values.waiting ?? (values.quick ? 10_000 : 1_000_000));
const ROUNDS = 7;

/** Runs SQL in the database, and returns the rows. */
type Execute = (sql: string) => Promise<Record<string, unknown>[]>;

interface Dialect {
  execute: Execute;
  /** The numbers from 1 to `count`, as a table with the column `n`. */
  series(count: number): string;
  /** A `select` of the `name` and `sql` of every index that is not a constraint. */
  indexes: string;
  close(): Promise<void>;
}

async function connect(url: string): Promise<Dialect> {
  if (url.startsWith("sqlite:")) {
    const db = new DatabaseSync(url.slice("sqlite:".length));
    db.exec("pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -500000");
    return {
      execute: async (sql) => db.prepare(sql).all() as Record<string, unknown>[],
      series: (count) =>
        `(with recursive series (n) as (select 1 union all select n + 1 from series where n < ${count}) select n from series)`,
      indexes: "select name, sql from sqlite_schema where type = 'index' and sql is not null",
      close: async () => db.close(),
    };
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("set synchronous_commit = off; set maintenance_work_mem = '512MB'");
  return {
    execute: async (sql) => (await client.query(sql)).rows,
    series: (count) => `(select n from generate_series(1, ${count}) as numbers (n))`,
    indexes: `select i.indexname as name, i.indexdef as sql from pg_indexes i
      where not exists (select 1 from pg_constraint c where c.conname = i.indexname) and i.tablename like 'punctual%'`,
    close: () => client.end(),
  };
}

/** Fills the tables. Indexes are dropped before and created afterwards. */
async function fill(url: string): Promise<void> {
  const jobs = new Punctual(url);
  await jobs.install();
  await jobs.stop();
  const { execute, series, indexes, close } = await connect(url);
  try {
    if ((await execute("select 1 from punctual_history limit 1")).length > 0) return;
    const dropped = (await execute(indexes)) as { name: string; sql: string }[];
    for (const { name } of dropped) await execute(`drop index ${name}`);
    const now = Date.now();
    const shared = (n: string) =>
      `'job-' || (${n} % 200), 'queue-' || (${n} % 10), 'job-' || (${n} % 200), 5,
       '{"customer":' || (${n} % 100000) || ',"text":"some words of a payload"}',
       case when ${n} % 20 = 0 then '["tag-' || (${n} % 50) || '"]' end,
       case when ${n} % 20 = 1 then ${n} - 1 end, case when ${n} % 100 = 2 then 1 + ${n} / 100 % 50 end,
       case when ${n} % 100 = 2 then ${n} end`;
    const columns =
      "name, queue, lane, priority, args, tags, parent_id, schedule, tick_at, id, limited, run_at, created_at, state";
    const at = `${now} - (${FINISHED} - s.n) * 100`;
    await execute(
      `insert into punctual_history (${columns}, attempts, crashes, started_at, finished_at, keep_until, error, fingerprint, worker)
       select ${shared("s.n")}, s.n, 0, ${at}, ${at}, case when s.n % 100 = 3 then 4 else 3 end,
              1, 0, ${at} + 10, ${at} + 50 + s.n % 1000, ${now} + 86400000 + s.n,
              case when s.n % 100 = 3 then '{"name":"Error' || (s.n / 100 % 30) || '","message":"It did not work."}' end,
              case when s.n % 100 = 3 then 'print-' || (s.n / 100 % 50) end, 'worker-' || (s.n % 7)
         from ${series(FINISHED)} s`,
    );
    // One tenth is scheduled, one tenth is ready under a limit, 500 are running, and all others are ready.
    await execute(
      `insert into punctual_runs (${columns}, attempts, locked_by, locked_until, lease_token, started_at)
       select ${shared("s.n")}, ${FINISHED} + s.n, case when s.n % 10 = 5 then 1 else 0 end,
              case when s.n % 10 = 6 then ${now} + s.n * 100 else ${now} - 60000 + s.n / 100 end, ${now},
              case when s.n <= 500 then 2 when s.n % 10 = 6 then 0 else 1 end, 0,
              case when s.n <= 500 then 'worker-1' end, case when s.n <= 500 then ${now} + 86400000 end,
              case when s.n <= 500 then 'token-' || s.n end, case when s.n <= 500 then ${now} end
         from ${series(WAITING)} s`,
    );
    await execute(
      `insert into punctual_jobs (name, queue, priority, lim, key_lim, fingerprint, defined_at, created_at, seen_at)
       select 'job-' || (s.n - 1), 'queue-' || ((s.n - 1) % 10), 5, 0, 0, '', ${now}, ${now}, ${now} from ${series(200)} s`,
    );
    for (const { sql } of dropped) await execute(sql);
    await execute(url.startsWith("sqlite:") ? "pragma wal_checkpoint(truncate)" : "vacuum analyze");
  } finally {
    await close();
  }
}

async function measure(name: string, url: string): Promise<void> {
  await fill(url);
  const jobs = new Punctual(url);
  const all = FINISHED + WAITING;
  const schedules = Array.from({ length: 50 }, (_, n) => n + 1);
  const reads: Record<string, () => Promise<unknown>> = {
    "status()": () => jobs.status(),
    "why() of the last run": () => jobs.why(all),
    "why() of a run under a limit": () => jobs.why(all - 5),
    "why() of an early run": () => jobs.why(FINISHED + 1000),
    "why() of a finished run": () => jobs.why(1000),
    "runs()": () => jobs.runs(),
    "runs() of a job": () => jobs.runs({ job: "job-7" }),
    "runs() ready": () => jobs.runs({ where: "state:ready" }),
    "runs() scheduled": () => jobs.runs({ where: "state:scheduled" }),
    "runs() running": () => jobs.runs({ where: "state:running" }),
    "runs() failed": () => jobs.runs({ where: "state:failed" }),
    "runs() failed of a job": () => jobs.runs({ where: "state:failed job:job-3" }),
    "runs() of a queue": () => jobs.runs({ where: "queue:queue-3" }),
    "runs() late": () => jobs.runs({ where: "is:late" }),
    "runs() with arguments that none has": () => jobs.runs({ where: "payload.customer:none" }),
    "count()": () => jobs.count(""),
    "count() ready": () => jobs.count("state:ready"),
    "count() completed": () => jobs.count("state:completed"),
    "count() failed": () => jobs.count("state:failed"),
    "count() of a queue": () => jobs.count("queue:queue-3"),
    "failures()": () => jobs.failures(),
    "failures() of a job": () => jobs.failures({ job: "job-3" }),
    "recentTicks() of 50 schedules": () => jobs.recentTicks(schedules),
    "childRuns()": () => jobs.childRuns(2000),
    "values() of tags": () => jobs.values("tag"),
    "values() of classes of errors": () => jobs.values("errortype"),
    "workers()": () => jobs.workers(),
  };
  const figures: Record<string, { least: number; median: number; most: number }> = {};
  for (const [title, read] of Object.entries(reads)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now();
      await read();
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    const [least, median, most] = [times[0]!, times[Math.floor(ROUNDS / 2)]!, times.at(-1)!].map(
      (time) => Math.round(time * 10) / 10,
    );
    figures[title] = { least: least!, median: median!, most: most! };
  }
  await jobs.stop();
  console.log(`\n${name}, ${FINISHED} finished and ${WAITING} waiting runs`);
  console.table(figures);
}

if (values.url) await measure(values.url.split(":")[0]!, values.url);
else {
  const databases = new Databases();
  for (const kind of ["sqlite", "postgres"] as const)
    await databases.using(kind, ({ url }) => measure(kind, url));
  await databases.stop();
}
