// A program that dispatches jobs of another package by name. It imports types alone: neither handlers nor their
// imports.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Punctual } from "../../src/index.ts";
import type { catalog } from "./jobs.ts";

const folder = mkdtempSync(join(tmpdir(), "punctual-catalog-"));
const database = `sqlite:${join(folder, "jobs.db")}`;
const work = () =>
  execFileSync(process.execPath, [join(import.meta.dirname, "worker.ts")], {
    env: { ...process.env, PUNCTUAL_DATABASE_URL: database },
    encoding: "utf8",
  });

// The worker has been deployed first: from then on the database knows its jobs.
work();
const jobs = new Punctual<typeof catalog>(database);

const mail = await jobs.dispatch("email", { to: "ada@example.com" });
await jobs.dispatch("report");

// None of these compiles:
//   jobs.dispatch("emial", { to: "ada@example.com" });   unknown name
//   jobs.dispatch("email", { to: 5 });                   wrong payload
//   jobs.dispatch("email");                              missing payload

process.stdout.write(work());

const { accepted } = await mail.wait(); // { accepted: boolean }, as the handler returns it
console.log(`producer: the email was ${accepted ? "accepted" : "refused"}`);
await jobs.stop();
rmSync(folder, { recursive: true });

// Output:
// worker: email to ada@example.com
// worker: report of day 1
// producer: the email was accepted
