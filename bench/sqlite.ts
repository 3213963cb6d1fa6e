// Punctual on SQLite beside the bare loop on the same tables: what the scheduler costs above what the database costs.
// Rounds are interleaved and medians taken; trust the ratios, not the figures. `--quick`: one short round.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Punctual } from "../src/index.ts";
import { dispatchOneByOne, drain, fill } from "./shared/drain.ts";
import { type Case, inRounds, type Measured, perSecond, show } from "./shared/rounds.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 5;
const RUNS = quick ? 2000 : 40_000;
const AWAITED = quick ? 200 : 3000;

async function withDatabase<Result>(work: (url: string, file: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "punctual-bench-"));
  const file = join(folder, "jobs.db");
  try {
    return await work(`sqlite:${file}`, file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const open = (url: string, synchronous: string) =>
  new Punctual(`${url}?synchronous=${synchronous}`, { logger: false });

/** Claim 500, move them to history, delete them: the least that has to be written, with nothing around it. */
function bareLoop(synchronous: string, runs: number): Promise<Measured> {
  return withDatabase(async (url, file) => {
    await fill(open(url, synchronous), runs);
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

const cases = ["full", "normal"].flatMap((mode): Case[] => {
  const on = (measure: (jobs: Punctual) => Promise<Measured>) => () =>
    withDatabase((url) => measure(open(url, mode)));
  return [
    [`bare loop, ${mode}`, () => bareLoop(mode, RUNS)],
    [`punctual, ${mode}`, on((jobs) => drain(jobs, RUNS, 0, true))],
    [`punctual keep(0), ${mode}`, on((jobs) => drain(jobs, RUNS, 0, false))],
    [`punctual limit 1, ${mode}`, on((jobs) => drain(jobs, Math.ceil(RUNS / 10), 1, true))],
    [`awaited one by one, ${mode}`, on((jobs) => dispatchOneByOne(jobs, AWAITED))],
  ];
});

show(await inRounds(ROUNDS, cases, (name) => `bare loop, ${name.split(", ")[1]}`));
