// Runs that exist only if your transaction commits, and writes that exist only if the run completes.
import { DatabaseSync } from "node:sqlite";
import { Punctual } from "../src/index.ts";
import { drain } from "../src/testing/index.ts";

const db = new DatabaseSync(":memory:");
db.exec("create table orders (id integer primary key, item text) strict");
db.exec("create table invoices (order_id integer primary key, run integer) strict");

const jobs = new Punctual(db);
await jobs.install();

const invoice = jobs
  .define("invoice", async (args: { order: number }, run) => {
    // The invoice and the run's completion are one commit. Elsewhere a crash between the two would write it twice.
    await run.transaction((tx) => {
      tx.prepare("insert into invoices values (?, ?)").run(args.order, run.id);
    });
  })
  .attempts({ max: 3, base: 0 });

async function order(id: number, item: string): Promise<void> {
  db.exec("begin immediate");
  try {
    db.prepare("insert into orders values (?, ?)").run(id, item);
    await invoice.dispatch({ order: id }).within(db);
    if (item === "") throw new Error("an order of nothing");
    db.exec("commit");
  } catch (error) {
    db.exec("rollback");
    console.log("rolled back:", (error as Error).message);
  }
}

await order(1, "a chair");
await order(2, "");
await order(3, "a table");

console.log("runs:", await drain(jobs));
for (const row of db.prepare("select * from invoices").all()) console.log("invoice", { ...row });
await jobs.stop();

// Output:
// rolled back: an order of nothing
// runs: 2
// invoice { order_id: 1, run: 1 }
// invoice { order_id: 3, run: 2 }
