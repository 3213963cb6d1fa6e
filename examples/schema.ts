// Any Standard Schema types and checks the arguments: zod, valibot, arktype and others.
import * as v from "valibot";
import { z } from "zod";
import { Punctual, PunctualError } from "../src/index.ts";
import { drain } from "../src/testing/index.ts";

const jobs = new Punctual("sqlite::memory:");

// dispatch() takes the schema's input and stores it; the handler gets its output.
const resize = jobs.define(
  "image.resize",
  z.object({ file: z.string().min(1), width: z.number().int().positive().default(800) }),
  async ({ file, width }) => {
    console.log(`resize ${file} to ${width}`);
  },
);

const remind = jobs.define(
  "remind",
  v.object({ email: v.pipe(v.string(), v.email()), on: v.pipe(v.string(), v.isoDate(), v.toDate()) }),
  async ({ email, on }) => {
    console.log(`remind ${email} on day ${on.getUTCDate()}`);
  },
);

await resize.dispatch({ file: "a.png" });
await resize.dispatch({ file: "b.png", width: 320 });
await remind.dispatch({ email: "ada@example.com", on: "2026-12-24" });

// Wrong arguments are refused where they are given, not an hour later in a worker.
try {
  await remind.dispatch({ email: "ada", on: "2026-02-30" });
} catch (error) {
  if (error instanceof PunctualError) console.log(`${error.code}: ${error.message}`);
}

await drain(jobs);
await jobs.stop();

// Output:
// INVALID_ARGS: The arguments of "remind" do not fit its schema: email: Invalid email: Received "ada".
// resize a.png to 800
// remind ada@example.com on day 24
// resize b.png to 320
