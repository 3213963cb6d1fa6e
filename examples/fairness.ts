// Tenants that take turns: 100 runs of one tenant do not delay the two of another.
import { Punctual } from "../src/index.ts";

const jobs = new Punctual("sqlite::memory:");

// The lanes of a fair queue, here one for each tenant, take turns. "gold" starts three runs in its turn.
jobs.queue("imports", { fair: true, weight: { gold: 3 } });

const started: string[] = [];
const importRow = jobs
  .define("import-row", async (args: { tenant: string }) => {
    started.push(args.tenant);
  })
  .queue("imports")
  // No limit; the key says whose run it is.
  .concurrency(0, { by: (args) => args.tenant });

const rows = (tenant: string, count: number) => Array.from({ length: count }, () => ({ tenant }));
await importRow.dispatchMany(rows("large", 100));
await importRow.dispatchMany(rows("small", 2));
await importRow.dispatchMany(rows("gold", 100));

await jobs.run({ batch: 40, parallel: 1 });

const places = (tenant: string) => started.flatMap((one, place) => (one === tenant ? [place] : []));
const count = (tenant: string) => places(tenant).length;
console.log(`small is done among the first 10: ${places("small").length === 2 && places("small")[1]! < 10}`);
const ratio = count("gold") / count("large");
console.log(`gold started about three times as often as large: ${ratio > 2.5 && ratio < 3.5}`);
await jobs.stop();

// Output:
// small is done among the first 10: true
// gold started about three times as often as large: true
