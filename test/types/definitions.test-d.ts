import type { Definition, Dispatch, JobDraft, Punctual, Run, RunContext } from "../../src/index.ts";
import { same } from "./support/same.ts";

declare const jobs: Punctual;

// A dispatch gives the type that the handler takes.
const mail = jobs.schedule("mail", async (args: { to: string; copies?: number }, run) => {
  same<typeof run, RunContext>();
  return args.to;
});
same<typeof mail, Definition<{ to: string; copies?: number }, string>>();

mail.dispatch({ to: "ada" });
mail.dispatch({ to: "ada", copies: 2 }, { delay: "1h" });
mail.dispatch({ to: "ada" }, 60);
// @ts-expect-error: its handler needs arguments
mail.dispatch();
// @ts-expect-error: and nothing else does
mail.dispatch(undefined, 60);
// @ts-expect-error: a number is no address
mail.dispatch({ to: 5 });
// @ts-expect-error: `to` is missing
mail.dispatch({ copies: 2 });
// @ts-expect-error: nothing is called `cc`
mail.dispatch({ to: "ada", cc: "bob" });
// @ts-expect-error: a misspelt option
mail.dispatch({ to: "ada" }, { dealy: 5 });

mail.dispatchMany([{ to: "ada" }, { to: "bob" }]);
mail.dispatchMany(new Set([{ to: "ada" }]), { queue: "bulk" });
mail.dispatchMany(
  (async function* () {
    yield { to: "ada" };
  })(),
);
// @ts-expect-error: one of them is wrong
mail.dispatchMany([{ to: "ada" }, { to: 5 }]);
// @ts-expect-error: no list
mail.dispatchMany({ to: "ada" });
same<ReturnType<typeof mail.dispatchMany>, Promise<Run<string>[]>>();

mail.args({ to: "everybody" }).queue("mail").dispatch();
mail.queue("mail").args({ to: "everybody" }).everyMinute().dispatch();
// @ts-expect-error: default arguments are arguments
mail.args({ from: "me" });

same<ReturnType<typeof mail.delay>, JobDraft<{ to: string; copies?: number }, string>>();
mail.delay(5).dispatch({ to: "ada" });
mail.at(new Date()).args({ to: "ada" }).dispatch();
mail.args({ to: "ada" }).delay(5).dispatch();
mail.queue("bulk").tags("x").unique("k").key("k").expires(5).dispatch({ to: "ada" });
// @ts-expect-error: a draft needs the arguments too
mail.delay(5).dispatch();
// @ts-expect-error: a draft has the types of its job
mail.delay(5).dispatch({ to: 5 });
// @ts-expect-error: on the way too
mail.draft().args({ to: 5 });

// Hooks and filters get the same arguments.
mail
  .when((args, run) => {
    same<typeof args, { to: string; copies?: number }>();
    same<typeof run, RunContext>();
    return true;
  })
  .skip(async (args) => args.to === "nobody")
  .onBefore((args) => args.to.length)
  .onSuccess((args, run) => run.log(args.to))
  .onError((error, args, run) => {
    same<typeof error, Error>();
    same<typeof args, { to: string; copies?: number }>();
    same<typeof run, RunContext>();
  })
  .onAfter((args) => args.copies)
  .concurrency(1, { perKey: 1, by: (args) => args.to });
// @ts-expect-error: a filter says yes or no
mail.when(() => "yes");
// @ts-expect-error: no such field
mail.onBefore((args) => args.from);

// The chain stays a definition with its arguments, whatever it is given.
const chained = mail
  .everyFiveMinutes()
  .hours([9, 12])
  .weekdays()
  .timezone("Europe/Berlin")
  .queue("mail")
  .priority(1)
  .lease("2m")
  .retries({
    max: 3,
    base: 1,
    cap: 60,
    jitter: "none",
    backoff: (failures) => failures * 2,
    when: () => true,
  })
  .timeout(null)
  .keep({ completed: 0, failed: "forever" })
  .cron("* * * * *")
  .formerly("old", "older");
same<typeof chained, Definition<{ to: string; copies?: number }, string>>();

// Frequency helpers have the parameters of the table.
mail.everySecond();
mail.hourlyAt(5).hourlyAt([5, 35]);
mail.dailyAt("13:00");
mail.twiceDaily().twiceDaily(1, 13);
mail.weeklyOn(1, "8:00");
mail.monthlyOn();
mail.daysOfMonth(1, 15);
mail.yearlyOn(6, 1, "17:00");
mail.weekdays().weekdays([1, 3]);
// @ts-expect-error: takes nothing
mail.everySecond(5);
// @ts-expect-error: a time of day is text
mail.dailyAt(13);
// @ts-expect-error: hours are numbers
mail.hours("9");
// @ts-expect-error: needs at least one
mail.hours();
// @ts-expect-error: there is no such helper
mail.everySevenMinutes();

// Neither definitions nor drafts can be awaited for anything else than themselves.
same<Awaited<typeof mail>, typeof mail>();
same<Awaited<ReturnType<typeof mail.delay>>, ReturnType<typeof mail.delay>>();
// @ts-expect-error: a definition is no promise
mail.then;
// @ts-expect-error: nor has it one's other methods
mail.catch;
// @ts-expect-error: a draft neither
jobs.delay(5).then;
const noPromise: PromiseLike<unknown> | Definition<never> = mail as unknown as Definition<never>;
// @ts-expect-error: not even structurally
const promise: PromiseLike<unknown> = mail;
void noPromise;
void promise;

// A dispatch can.
same<Awaited<ReturnType<typeof mail.dispatch>>, Run<string>>();
same<ReturnType<typeof mail.dispatch>, Dispatch<{ to: string; copies?: number }, string>>();
const thenable: PromiseLike<Run> = mail.dispatch({ to: "ada" });
void thenable;
mail
  .dispatch({ to: "ada" })
  .delay(5)
  .args({ to: "ada" })
  .then((run) => run.id);
mail
  .dispatch({ to: "ada" })
  .catch(() => null)
  .then((run) => run?.id);
mail.dispatch({ to: "ada" }).finally(() => {});
// @ts-expect-error: the chain has the types of the job
mail.dispatch({ to: "ada" }).args({ to: 5 });

// A handler that takes nothing can be dispatched with nothing, or with anything.
const ping = jobs.schedule("ping", () => {});
ping.dispatch();
ping.dispatch({ any: "thing" });

// Also a handler whose arguments are optional, may be undefined, or have no required member.
jobs.define("optional", (args?: { to: string }) => args?.to).dispatch();
jobs.define("undefined", (args: { to: string } | undefined) => args?.to).dispatch();
jobs.define("nothing", (_args: undefined) => {}).dispatch();
jobs.define("unknown", (_args: unknown) => {}).dispatch();
jobs.define("members", (args: { to?: string }) => args.to).dispatch();
jobs.define("record", (args: Record<string, unknown>) => args.to).dispatch(null, 60);
jobs.define("destructured", ({ to = "all" }: { to?: string }) => to).dispatch();
// @ts-expect-error: a text cannot be left out
jobs.define("text", (_args: string) => {}).dispatch();
// @ts-expect-error: nor a list
jobs.define("list", (_args: string[]) => {}).dispatch();

// wait() gives what the handler returns.
same<Awaited<ReturnType<Run<string>["wait"]>>, string>();
const counted = jobs.define("counted", async () => ({ count: 5 }));
same<typeof counted, Definition<unknown, { count: number }>>();
const result = await (await counted.dispatch()).wait({ timeout: 5 });
same<typeof result, { count: number }>();
const later = await (await counted.delay(5).queue("x").dispatch()).wait();
same<typeof later, { count: number }>();
const [ofMany] = await counted.dispatchMany([{}]);
same<typeof ofMany, Run<{ count: number }> | undefined>();

// A definition with known types is one of any.
const anyJob: Definition = mail as Definition<unknown>;
const anyResult: Definition<{ to: string; copies?: number }> = mail;
const withArgs: Definition<{ to: string; copies?: number }, string> = mail.args({ to: "ada" });
const anyRun: Run = await mail.dispatch({ to: "ada" });
void [anyJob, anyResult, withArgs, anyRun];

// Bad configuration does not compile.
// @ts-expect-error: jitter is full or none
mail.retries({ jitter: "half" });
// @ts-expect-error: no such setting
mail.retries({ tries: 5 });
// @ts-expect-error: a number
mail.priority("high");
// @ts-expect-error: no such state
mail.keep({ done: 5 });
// @ts-expect-error: a handler is needed
jobs.schedule("nothing");
