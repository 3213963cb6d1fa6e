// biome-ignore-all lint/complexity/noStaticOnlyClass: a job class may have nothing but its static handle.
import {
  type Catalog,
  type Dispatch,
  type Dispatchable,
  type JsonValue,
  Punctual,
  type Run,
} from "../../src/index.ts";
import { drain, recordDispatches } from "../../src/testing/index.ts";
import { same } from "./support/same.ts";

// In the package of the worker.
declare const worker: Punctual;
const email = worker
  .define("email", async (args: { to: string; copies?: number }) => args.to.length)
  .args({ to: "all" });
const report = worker.define("report", (args: { day?: number }) => void args);
const charge = worker.declare<{ id: number }, boolean>("billing.charge");
class Resize {
  static handle(args: { id: number }): string {
    return String(args.id);
  }
}
const resize = worker.define("resize", Resize);
const catalog = worker.catalog({ email, report, "billing.charge": charge, resize });
same<
  typeof catalog,
  Catalog<{
    email: { args: { to: string; copies?: number }; result: number };
    report: { args: { day?: number }; result: undefined };
    "billing.charge": { args: { id: number }; result: boolean };
    resize: { args: { id: number }; result: string };
  }>
>();
// @ts-expect-error: jobs, not names
worker.catalog({ email: "email" });

// In the package of a producer.
const jobs = new Punctual<typeof catalog>("sqlite::memory:");
const dispatched = jobs.dispatch("email", { to: "ada" }, { delay: 5 });
same<typeof dispatched, Dispatch<{ to: string; copies?: number }, number>>();
same<Awaited<typeof dispatched>, Run<number>>();
jobs.dispatch("report");
jobs.dispatch("report", null, 3600);
jobs.dispatch("resize", { id: 1 }).queue("images");
jobs.delay(5).dispatch("email", { to: "ada" });
jobs.args({ to: "ada" }).dispatch("email");
jobs.register("email", { to: "ada" }, new Date(), "bulk");
jobs.recur("email", "* * * * *", { args: { to: "ada" } });
const declared = jobs.declare("email");
same<typeof declared, Dispatchable<{ to: string; copies?: number }, number>>();
declared.dispatchMany([{ to: "ada" }]);
// @ts-expect-error: unknown names
jobs.dispatch("emial", { to: "ada" });
// @ts-expect-error: also in a draft
jobs.delay(5).dispatch("emial", { to: "ada" });
// @ts-expect-error: and in the registrar's forms
jobs.register("emial", { to: "ada" });
// @ts-expect-error: and of a schedule
jobs.recur("emial", "* * * * *");
// @ts-expect-error: a wrong payload
jobs.dispatch("email", { to: 5 });
// @ts-expect-error: one with a member too many
jobs.dispatch("email", { to: "ada", cc: "bob" });
// @ts-expect-error: a missing payload: arguments that args() gives are known to the worker alone
jobs.dispatch("email");
// @ts-expect-error: null is none
jobs.dispatch("email", null, 3600);
// @ts-expect-error: a draft must have it too
jobs.delay(5).dispatch("email");
// @ts-expect-error: in the registrar's form too
jobs.register("email");
// @ts-expect-error: those of a schedule
jobs.recur("email", "* * * * *", { args: { to: 5 } });
// @ts-expect-error: the chain knows
jobs.dispatch("email", { to: "ada" }).args({ to: 5 });
// @ts-expect-error: a declared job as well
declared.dispatch({ to: 5 });

// A job that no catalog lists can be declared, and a function has any name.
const other = jobs.declare<{ n: number }>("other");
same<typeof other, Dispatchable<{ n: number }, JsonValue | undefined>>();
jobs.dispatch("resize 42", async () => {}).onError(() => {});
jobs.dispatch(Resize, { id: 1 });

// Jobs may be defined and found as ever.
jobs.define("local", (args: { n: number }) => args.n).dispatch({ n: 1 });
drain(jobs);
recordDispatches(jobs);
const untyped: Punctual = jobs;
function work(instance: Punctual): Promise<number> {
  return instance.run();
}
void [untyped, work(jobs)];
