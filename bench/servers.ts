// Punctual on each database server that is found here, beside the bare loop on the same tables. Servers are started for
// it, with commits that wait for the disk. Rounds are interleaved and medians taken; trust the ratios, not the figures.
// `--quick`: one short round.
import { Punctual } from "../src/index.ts";
import type { ServerDatabase } from "../src/store/sql/database.ts";
import { systemClock } from "../src/time.ts";
import { isAvailable } from "../test/servers/find.ts";
import { serverKinds } from "../test/servers/server.ts";
import { startServer } from "../test/servers/start.ts";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 3;
const RUNS = quick ? 1000 : 20_000;
const LIMITED = quick ? 50 : 1000;
const AWAITED = quick ? 50 : 1000;
const payload = { text: "x".repeat(88) };

type Measured = Record<string, number>;

const perSecond = (count: number, since: number) => Math.round((count / (performance.now() - since)) * 1000);

let prefixes = 0;

/** Tables of its own for each measurement. */
async function instance(url: string): Promise<{ jobs: Punctual; prefix: string }> {
  const prefix = `bench${++prefixes}_`;
  const jobs = new Punctual(url, { logger: false, prefix });
  await jobs.install();
  return { jobs, prefix };
}

/** Drains through a worker; `limit` is the job's concurrency. */
async function drain(url: string, runs: number, limit: number, keep: boolean): Promise<Measured> {
  const { jobs } = await instance(url);
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
  const drained = perSecond(runs, since);
  await jobs.stop();
  await working;
  return { bulk, drain: drained };
}

async function oneByOne(url: string): Promise<Measured> {
  const { jobs } = await instance(url);
  const job = jobs.schedule("bench", async (_: typeof payload) => {});
  await job.dispatch(payload);
  const since = performance.now();
  for (let sent = 0; sent < AWAITED; sent++) await job.dispatch(payload);
  const dispatch = perSecond(AWAITED, since);
  await jobs.stop();
  return { dispatch };
}

/** Claim 500, move them to history, delete them: the least that has to be written, with nothing around it. */
async function bareLoop(url: string, runs: number): Promise<Measured> {
  const { jobs, prefix } = await instance(url);
  const job = jobs.schedule("bench", async (_: typeof payload) => {}).concurrency(0);
  await job.dispatchMany(Array.from({ length: runs }, () => payload));
  await jobs.stop();
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
    ? await (await import("../src/store/postgres/parts.ts")).postgresParts(url, options)
    : await (await import("../src/store/mysql/parts.ts")).mysqlParts(url, options);
  return { parts: opened.db, close: opened.close };
}

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

const table: Record<string, Measured> = {};
for (const kind of serverKinds.filter(isAvailable)) {
  const server = await startServer(kind, { durable: true });
  const { url } = server;
  const cases: [string, () => Promise<Measured>][] = [
    ["bare loop", () => bareLoop(url, RUNS)],
    ["punctual", () => drain(url, RUNS, 0, true)],
    ["punctual keep(0)", () => drain(url, RUNS, 0, false)],
    ["punctual limit 1", () => drain(url, LIMITED, 1, true)],
    ["awaited one by one", () => oneByOne(url)],
  ];
  const samples = new Map<string, Record<string, number[]>>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, measure] of cases) {
      const found = samples.get(name) ?? {};
      for (const [what, value] of Object.entries(await measure()))
        found[what] = [...(found[what] ?? []), value];
      samples.set(name, found);
    }
  }
  const bare = median(samples.get("bare loop")!.drain!);
  for (const [name, found] of samples) {
    const row: Measured = {};
    for (const [what, values] of Object.entries(found)) row[`${what}/s`] = median(values);
    if (found.drain && name !== "bare loop") row["of bare"] = Number((median(found.drain) / bare).toFixed(2));
    table[`${kind} ${server.version}, ${name}`] = row;
  }
  await server.stop();
}
console.table(table);
if (process.argv.includes("--json")) console.log(JSON.stringify(table));
