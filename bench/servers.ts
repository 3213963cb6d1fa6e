// Punctual on each database server that is found here, beside the bare loop on the same tables. Servers are started for
// it, with commits that wait for the disk. Rounds are interleaved and medians taken; trust the ratios, not the figures.
// `--quick`: one short round.
import { Punctual } from "../src/index.ts";
import type { ServerDatabase } from "../src/store/sql/database.ts";
import { systemClock } from "../src/time.ts";
import { isAvailable } from "../test/servers/find.ts";
import { serverKinds } from "../test/servers/server.ts";
import { startServer } from "../test/servers/start.ts";
import { dispatchOneByOne, drain, fill } from "./shared/drain.ts";
import { type Case, inRounds, type Measured, perSecond, show } from "./shared/rounds.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 3;
const RUNS = quick ? 1000 : 20_000;
const LIMITED = quick ? 50 : 1000;
const AWAITED = quick ? 50 : 1000;

let prefixes = 0;

/** Tables of its own for each measurement. */
async function instance(url: string): Promise<{ jobs: Punctual; prefix: string }> {
  const prefix = `bench${++prefixes}_`;
  const jobs = new Punctual(url, { logger: false, prefix });
  await jobs.install();
  return { jobs, prefix };
}

/** Claim 500, move them to history, delete them: the least that has to be written, with nothing around it. */
async function bareLoop(url: string, runs: number): Promise<Measured> {
  const { jobs, prefix } = await instance(url);
  await fill(jobs, runs);
  const { parts, close } = await database(url, prefix);
  const ids = parts.rows({ id: "integer" });
  const columns =
    "name, queue, lane, limited, priority, run_at, args, attempts, crashes, created_at, id".split(", ");
  const since = performance.now();
  for (let done = 0; done < runs; ) {
    done += await parts.transaction(async (tx) => {
      const rows = await tx.all<{ id: number; args: string }>(
        `select id, name, args from ${prefix}runs where state = 1 and limited = 0 and owner is null and queue = 'default'
          order by priority, run_at, id limit 500 for update skip locked`,
      );
      const list = JSON.stringify(rows.map(({ id }) => [id]));
      await tx.run(
        parts.updateFrom(`${prefix}runs`, { state: "2", attempts: "1", locked_by: "'w'" }, ids),
        list,
      );
      for (const row of rows) await JSON.parse(row.args);
      await tx.run(
        `insert into ${prefix}history (${columns.join(", ")}, state, finished_at)
         select ${columns.map((column) => `r.${column}`).join(", ")}, 3, 1 from ${ids} v join ${prefix}runs r on r.id = v.id`,
        list,
      );
      await tx.run(parts.deleteFrom(`${prefix}runs`, "id", ids), list);
      return rows.length;
    });
  }
  const drained = perSecond(runs, since);
  await close();
  return { drain: drained };
}

/** The statements' own way to the server, so that the driver is the same. */
async function database(
  url: string,
  prefix: string,
): Promise<{ parts: ServerDatabase; close(): Promise<void> }> {
  const options = { clock: systemClock, prefix };
  const opened = url.startsWith("postgres")
    ? await (await import("../src/store/postgres/open.ts")).postgresParts(url, options)
    : await (await import("../src/store/mysql/open.ts")).mysqlParts(url, options);
  return { parts: opened.db, close: opened.close };
}

for (const kind of serverKinds.filter(isAvailable)) {
  const server = await startServer(kind, { durable: true });
  const on = (measure: (jobs: Punctual) => Promise<Measured>) => async () =>
    measure((await instance(server.url)).jobs);
  const named = (name: string) => `${kind} ${server.version}, ${name}`;
  const cases: Case[] = [
    [named("bare loop"), () => bareLoop(server.url, RUNS)],
    [named("punctual"), on((jobs) => drain(jobs, RUNS, 0, true))],
    [named("punctual keep(0)"), on((jobs) => drain(jobs, RUNS, 0, false))],
    [named("punctual limit 1"), on((jobs) => drain(jobs, LIMITED, 1, true))],
    [named("awaited one by one"), on((jobs) => dispatchOneByOne(jobs, AWAITED))],
  ];
  show(await inRounds(ROUNDS, cases, () => named("bare loop")));
  await server.stop();
}
