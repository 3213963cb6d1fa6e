import * as v from "valibot";
import { z } from "zod";
import type { Definition, Dispatchable, Punctual } from "../../src/index.ts";
import { same } from "./support/same.ts";

declare const jobs: Punctual;

// A dispatch passes the schema's input, and the handler gets its output.
const zod = z.object({
  file: z.string(),
  size: z.number().default(10),
  at: z.string().transform((t) => new Date(t)),
});
const imported = jobs.schedule("import", zod, (args, run) => {
  same<typeof args, { file: string; size: number; at: Date }>();
  return run.id;
});
type Input = { file: string; at: string; size?: number | undefined };
same<typeof imported, Definition<Input, number, boolean, { file: string; size: number; at: Date }>>();
imported
  .onBefore((args) => args.at.getTime())
  .when(({ size }) => size > 5)
  .onError((_error, args) => args.at.toISOString())
  // The key is computed before the schema is applied.
  .concurrency(1, { perKey: 1, by: (args) => args.at.slice(0, 4) });
// @ts-expect-error: a hook gets the output
imported.onAfter((args) => args.at.slice(0, 4));
const anySchema: Dispatchable<Input> = imported;
jobs.recur(imported, "* * * * *", { args: { file: "a.csv", at: "2026-01-01" } });
jobs.catalog({ import: imported });
// @ts-expect-error: a schedule passes the input
jobs.recur(imported, "* * * * *", { args: { file: "a.csv", at: new Date() } });
void anySchema;
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
