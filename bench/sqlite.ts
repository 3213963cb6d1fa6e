// Punctual on SQLite beside the bare loop on the same tables: what the scheduler costs above what the database costs.
// Rounds are interleaved and medians taken; trust the ratios, not the figures. `--quick`: one short round.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Punctual } from "../src/index.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 5;
const RUNS = quick ? 2000 : 40_000;
const AWAITED = quick ? 200 : 3000;
const payload = { text: "x".repeat(88) };

type Measured = Record<string, number>;

const perSecond = (count: number, since: number) => Math.round((count / (performance.now() - since)) * 1000);

async function withDatabase<Result>(work: (url: string, file: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "punctual-bench-"));
  const file = join(folder, "jobs.db");
  try {
    return await work(`sqlite:${file}`, file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Drains through a worker; `limit` is the job's concurrency. */
function punctual(synchronous: string, runs: number, limit: number, keep: boolean): Promise<Measured> {
  return withDatabase(async (url) => {
    const jobs = new Punctual(`${url}?synchronous=${synchronous}`, { logger: false });
    const finished = Promise.withResolvers<void>();
    let ran = 0;
    const job = jobs.schedule("bench", async (_: typeof payload) => {
      if (++ran === runs) finished.resolve();
    });
    job.concurrency(limit);
    if (!keep) job.keep(0);
    let since = performance.now();
    await job.dispatchMany(Array.from({ length: runs }, () => payload));
    const bulk = perSecond(runs, since);
    since = performance.now();
    const working = jobs.forever({ parallel: 50, signals: false });
    await finished.promise;
    const drain = perSecond(runs, since);
    await jobs.stop();
    await working;
    return { bulk, drain };
  });
}

function dispatchOneByOne(synchronous: string): Promise<Measured> {
  return withDatabase(async (url) => {
    const jobs = new Punctual(`${url}?synchronous=${synchronous}`, { logger: false });
    const job = jobs.schedule("bench", async (_: typeof payload) => {});
    await job.dispatch(payload);
    const since = performance.now();
    for (let sent = 0; sent < AWAITED; sent++) await job.dispatch(payload);
    const dispatch = perSecond(AWAITED, since);
    await jobs.stop();
    return { dispatch };
  });
}

/** Claim 500, move them to history, delete them: the least that has to be written, with nothing around it. */
function bareLoop(synchronous: string, runs: number): Promise<Measured> {
  return withDatabase(async (url, file) => {
    const jobs = new Punctual(url, { logger: false });
    const job = jobs.schedule("bench", async (_: typeof payload) => {}).concurrency(0);
    await job.dispatchMany(Array.from({ length: runs }, () => payload));
    await jobs.stop();
    const db = new DatabaseSync(file);
    db.exec(`pragma synchronous = ${synchronous}`);
    const claim = db.prepare(
      `update punctual_runs set state = 2, attempts = 1, lease_token = 't', locked_by = 'w', locked_until = 1
        where id in (select id from punctual_runs where state = 1 and limited = 0 and owner is null and queue = 'default'
                      order by priority, run_at, id limit 500) returning id, name, args`,
    );
    const keep = db.prepare(
      `insert into punctual_history (id, name, queue, lane, limited, priority, run_at, state, args, attempts, crashes, finished_at, created_at)
       select id, name, queue, lane, limited, priority, run_at, 3, args, attempts, crashes, 1, created_at
         from punctual_runs where id in (select value from json_each(?)) and lease_token = 't'`,
    );
    const remove = db.prepare(`delete from punctual_runs where id in (select value from json_each(?))`);
    const since = performance.now();
    for (let done = 0; done < runs; ) {
      db.exec("begin immediate");
      const rows = claim.all() as { id: number; args: string }[];
      for (const row of rows) await JSON.parse(row.args);
      const ids = JSON.stringify(rows.map((row) => row.id));
      keep.run(ids);
      remove.run(ids);
      db.exec("commit");
      done += rows.length;
    }
    const drain = perSecond(runs, since);
    db.close();
    return { drain };
  });
}

const cases: [string, () => Promise<Measured>][] = ["full", "normal"].flatMap((mode): typeof cases => [
  [`bare loop, ${mode}`, () => bareLoop(mode, RUNS)],
  [`punctual, ${mode}`, () => punctual(mode, RUNS, 0, true)],
  [`punctual keep(0), ${mode}`, () => punctual(mode, RUNS, 0, false)],
  [`punctual limit 1, ${mode}`, () => punctual(mode, Math.ceil(RUNS / 10), 1, true)],
  [`awaited one by one, ${mode}`, () => dispatchOneByOne(mode)],
]);

const samples = new Map<string, Record<string, number[]>>();
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, measure] of cases) {
    const found = samples.get(name) ?? {};
    for (const [what, value] of Object.entries(await measure()))
      found[what] = [...(found[what] ?? []), value];
    samples.set(name, found);
  }
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
const table = Object.fromEntries(
  [...samples].map(([name, found]) => [
    name,
    Object.fromEntries(Object.entries(found).map(([what, values]) => [`${what}/s`, median(values)])),
  ]),
);
for (const mode of ["full", "normal"]) {
  const bare = median(samples.get(`bare loop, ${mode}`)!.drain!);
  for (const name of [`punctual, ${mode}`, `punctual keep(0), ${mode}`]) {
    Object.assign(table[name]!, { "of bare": Number((median(samples.get(name)!.drain!) / bare).toFixed(2)) });
  }
}
console.table(table);
if (process.argv.includes("--json")) console.log(JSON.stringify(table));
