import type {
  AdHocDispatch,
  Dispatch,
  Dispatchable,
  DispatchOptions,
  Events,
  Facade,
  JsonValue,
  Punctual,
  PunctualOptions,
  Run,
  RunContext,
  RunInfo,
  RunState,
} from "../../src/index.ts";
import { Punctual as Constructor, type Job, PermanentError, PunctualError } from "../../src/index.ts";
import { same } from "./support/same.ts";

declare const jobs: Punctual;
declare const url: string | undefined;

// By name anything goes: the database knows, the compiler does not.
same<Awaited<ReturnType<typeof byName>>, Run<JsonValue | undefined>>();
const byName = () => jobs.dispatch("mail", { to: "ada" });
jobs.dispatch("mail", null, 3600);
jobs.dispatch(
  "mail",
  { to: "ada" },
  { delay: 60, priority: 1, unique: { key: "k", for: "1h", until: "started" } },
);
// @ts-expect-error: a misspelt option
jobs.dispatch("mail", {}, { prioritty: 1 });
// @ts-expect-error: no such moment
jobs.dispatch("mail", {}, { unique: { key: "k", until: "done" } });
// @ts-expect-error: a number of seconds is no instant
jobs.dispatch("mail").at(5);

// declare() gives the arguments of a job that is defined elsewhere.
const charge = jobs.declare<{ id: number }>("billing.charge");
same<typeof charge, Dispatchable<{ id: number }, JsonValue | undefined>>();
charge.dispatch({ id: 1 }).queue("billing");
charge.unique("1").dispatch({ id: 1 });
// @ts-expect-error: it needs its arguments
charge.dispatch();
charge.dispatchMany([{ id: 1 }]);
charge.delay(5).dispatch({ id: 1 });
// @ts-expect-error: ids are numbers
charge.dispatch({ id: "1" });
// @ts-expect-error: it is not defined here, so nothing of it can be configured
charge.retries(3);
// @ts-expect-error: nor scheduled
charge.everyMinute();

// A function that is dispatched takes every configuration method, in any order, and is awaited for its run.
const adHoc = jobs.dispatch("upload", async (args, run) => {
  same<typeof args, unknown>();
  same<typeof run, RunContext>();
});
same<typeof adHoc, AdHocDispatch<void>>();
const configured = adHoc
  .queue("uploads")
  .retries({ max: 3 })
  .onError((error, args, run) => void [error, args, run])
  .onBefore(() => {})
  .onSuccess(() => {})
  .onAfter(() => {})
  .when(() => true)
  .skip(async () => false)
  .lease(30)
  .keep(0)
  .timeout(5)
  .concurrency(1)
  .args({ file: 1 })
  .delay("1h")
  .tags("x")
  .unique("once");
same<typeof configured, AdHocDispatch<void>>();
same<Awaited<typeof configured>, Run<void>>();
const added = await (await jobs.dispatch("add", () => 1 + 1, { delay: 5 })).wait();
same<typeof added, number>();
// @ts-expect-error: it ticks never
adHoc.everyMinute();
// @ts-expect-error: it has no former name
adHoc.formerly("x");
// @ts-expect-error: a dispatch of a job is not configured
jobs.dispatch("mail").onError(() => {});
jobs.dispatch("mail").retries(3).retries(5, 2, 60, "none").retries({ max: 2 }).queue(null);
jobs.dispatch("mail", {}, { retries: { max: 3, jitter: "none" }, queue: null });
// @ts-expect-error: what stands by position is a number
jobs.dispatch("mail").retries(5, "2");
// @ts-expect-error: a function cannot be stored with a run
jobs.dispatch("mail", {}, { retries: { when: () => true } });

// within() ends the chain.
const within = jobs.dispatch("mail").within({});
same<Awaited<typeof within>, Run<JsonValue | undefined>>();
// @ts-expect-error: nothing can be chained after it
within.delay(5);

// A run from outside, and from inside.
declare const run: Run<string>;
same<ReturnType<typeof run.wait>, Promise<string>>();
same<ReturnType<typeof run.state>, Promise<RunState | null>>();
same<ReturnType<typeof run.cancel>, Promise<"cancelled" | "requested">>();
run.at(new Date());
// @ts-expect-error: seconds are no instant
run.at(5);
// @ts-expect-error: not for others to change
run.id = 5;

declare const context: RunContext;
same<ReturnType<typeof context.snooze>, never>();
same<ReturnType<typeof context.slowDown>, never>();
same<ReturnType<typeof context.discard>, never>();
context.progress({ done: 1, of: [1, null] });
context.transaction((tx) => tx.exec("select 1"));
// @ts-expect-error: JSON only
context.progress(new Date());
// @ts-expect-error: read only
context.attempt = 2;

// Looking.
same<Awaited<ReturnType<typeof jobs.find>>, RunInfo | null>();
jobs.runs({ state: ["failed", "running"], job: "mail", limit: 5 });
// @ts-expect-error: no such state
jobs.runs({ state: "done" });
jobs.prune(3600);
jobs.prune({ finished: "1 day", jobs: "30 days" });
// @ts-expect-error: no such part
jobs.prune({ days: 3 });

// Events have their payloads.
jobs.on("run.completed", (event) => {
  same<typeof event, Events["run.completed"]>();
  same<typeof event.duration, number>();
});
jobs.on("error", ({ error, during }) => void [error, during.length]);
// @ts-expect-error: no such event
jobs.on("run.exploded", () => {});
same<ReturnType<typeof jobs.on>, () => void>();

// Constructing.
new Constructor("sqlite::memory:");
new Constructor("sqlite::memory:", { logger: false, defaults: { retries: 3, lease: "2m", timeout: null } });
new Constructor();
const options: PunctualOptions = { logger: console };
new Constructor("sqlite::memory:", options);
// @ts-expect-error: an unset variable must not become the default database
new Constructor(url);
// @ts-expect-error: a misspelt option
new Constructor("sqlite::memory:", { prefx: "x_" });
// @ts-expect-error: no such default
new Constructor("sqlite::memory:", { defaults: { retry: 3 } });

same<typeof Job, Facade>();
same<ReturnType<typeof Job.use>, Punctual>();
const code: PunctualError["code"] = "UNKNOWN_JOB";
// @ts-expect-error: codes are known
const wrong: PunctualError["code"] = "UNKNOWN";
void [code, wrong, new PermanentError("no", { cause: code }), new PunctualError("CLOSED", "x")];

// The options object is the chain.
const shape: DispatchOptions = {
  delay: 5,
  at: "2026-01-01",
  tags: ["a"],
  expires: "1h",
  timeout: "30s",
  key: "k",
};
const chain: Dispatch = jobs.dispatch("mail").options(shape);
void chain;
