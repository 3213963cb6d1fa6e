// The jobs of a worker, and the catalog that other packages import the types of.
import { Punctual } from "../../src/index.ts";

export const jobs = new Punctual();

const email = jobs
  .define("email", async (args: { to: string; subject?: string }) => {
    console.log(`worker: email to ${args.to}`);
    return { accepted: args.to.includes("@") };
  })
  .attempts(3);

const report = jobs.define("report", async ({ day = 1 }: { day?: number }) => {
  console.log(`worker: report of day ${day}`);
});

export const catalog = jobs.catalog({ email, report });
