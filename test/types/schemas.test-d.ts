import * as v from "valibot";
import { z } from "zod";
import type { Definition, Punctual } from "../../src/index.ts";
import { same } from "./support/same.ts";

declare const jobs: Punctual;

// What is dispatched is the schema's input, what the handler gets is its output.
const zod = z.object({
  file: z.string(),
  size: z.number().default(10),
  at: z.string().transform((t) => new Date(t)),
});
const imported = jobs.schedule("import", zod, (args, run) => {
  same<typeof args, { file: string; size: number; at: Date }>();
  return run.id;
});
same<typeof imported, Definition<{ file: string; at: string; size?: number | undefined }, number>>();
imported.dispatch({ file: "a.csv", at: "2026-01-01" });
imported.dispatchMany([{ file: "a.csv", at: "2026-01-01", size: 5 }]);
imported.args({ file: "a.csv", at: "2026-01-01" });
// @ts-expect-error: the output is not the input
imported.dispatch({ file: "a.csv", at: new Date() });
// @ts-expect-error: `file` is missing
imported.dispatch({ at: "2026-01-01" });

const valibot = v.object({
  file: v.string(),
  size: v.optional(v.number(), 10),
  at: v.pipe(
    v.string(),
    v.transform((t) => new Date(t)),
  ),
});
const read = jobs.schedule("read", valibot, async (args) => {
  same<typeof args, { file: string; size: number; at: Date }>();
});
read.dispatch({ file: "a.csv", at: "2026-01-01" });
// @ts-expect-error: text
read.dispatch({ file: 5, at: "2026-01-01" });

jobs.schedule("async", z.object({ id: z.number().refine(async () => true) }), async ({ id }) => {
  same<typeof id, number>();
});

// @ts-expect-error: the handler wants what the schema does not give
jobs.schedule("mismatch", z.object({ a: z.string() }), (args: { b: number }) => args.b);
