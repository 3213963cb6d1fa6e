import { Punctual } from "../src/index.ts";
import { drain, TestClock } from "../src/testing/index.ts";

const jobs = new Punctual("sqlite::memory:", { clock: new TestClock(), logger: false });

const importRow = jobs
  .define("import-row", async (row: { name: string; age: number }) => {
    if (row.age < 0) throw new Error(`${row.name} has an impossible age`);
  })
  .attempts(1);

// A callback of the batch: `run.batch` is the batch that dispatched it.
const report = jobs.define("report", async (args: { file: string }, run) => {
  const { total, completed, failed } = await run.batch!.status();
  console.log(`${args.file}: ${completed} of ${total} rows imported, ${failed} failed`);
});
const alert = jobs.define("alert", async (args: { file: string }) => {
  console.log(`${args.file}: a row failed`);
});

const rows = [
  { name: "Ada", age: 36 },
  { name: "Grace", age: 85 },
  { name: "Nobody", age: -1 },
];
const batch = await jobs
  .batch("import people.csv")
  .add(importRow.many(rows))
  .onFailure(alert.draft().args({ file: "people.csv" }))
  .onFinish(report.draft().args({ file: "people.csv" }));
console.log(`batch ${batch.id} has ${batch.added} members`);
await drain(jobs, { failures: "ignore" });

// Fan-out and fan-in: the parts run side by side, and a callback joins their results.
const part = jobs.define("part", async (args: { from: number; to: number }) => {
  let sum = 0;
  for (let n = args.from; n <= args.to; n++) sum += n;
  return sum;
});
const join = jobs.define("join", async (_args: unknown, run) => {
  const { runs } = await jobs.runs({ batch: String(run.batch!.id) });
  const total = runs.reduce((sum, { result }) => sum + Number(result), 0);
  console.log(`${runs.length} parts add up to ${total}`);
});
await jobs
  .batch("sum")
  .add(part.many([0, 1, 2].map((n) => ({ from: n * 100 + 1, to: n * 100 + 100 }))))
  .onSuccess(join);
await drain(jobs);

// Members may add to their own batch: it finishes when no page is left.
const site: Record<string, string[]> = { "/": ["/a", "/b"], "/a": ["/b", "/c"], "/b": [], "/c": ["/"] };
const visit = jobs.define("visit", async (args: { path: string }, run) => {
  const links = site[args.path]!.map((path) => visit.draft().args({ path }).unique(path, { for: "1h" }));
  const added = await run.batch!.add(...links);
  console.log(`${args.path}: ${added} new pages`);
});
const crawl = await jobs.batch("crawl").add(visit.draft().args({ path: "/" }).unique("/", { for: "1h" }));
await drain(jobs);
const { state, total } = await crawl.status();
console.log(`crawl: ${state}, ${total} pages`);
await jobs.stop();

// Output:
// batch 1 has 3 members
// people.csv: a row failed
// people.csv: 2 of 3 rows imported, 1 failed
// 3 parts add up to 45150
// /: 2 new pages
// /a: 1 new pages
// /b: 0 new pages
// /c: 0 new pages
// crawl: finished, 4 pages
