// biome-ignore-all lint/complexity/noStaticOnlyClass: a job class may have nothing but its static handle.
import type { Definition, Dispatch, Punctual, Run, RunContext } from "../../src/index.ts";
import { same } from "./support/same.ts";

declare const jobs: Punctual;

class StaticReport {
  static handle(args: { day: number }, run: RunContext): void {
    void [args, run];
  }
}

class InstanceReport {
  async handle(args: { week: number }): Promise<string> {
    return String(args.week);
  }
}

class Reports {
  static daily(args: { day: number }): void {
    void args;
  }
  weekly(args: { week: number }, run: RunContext): number {
    return args.week + run.id;
  }
}

abstract class Abstract {
  abstract handle(args: { id: string }): void;
}

same<ReturnType<typeof scheduleStatic>, Definition<{ day: number }, void>>();
const scheduleStatic = () => jobs.schedule(StaticReport);
const instance = jobs.schedule(InstanceReport);
same<typeof instance, Definition<{ week: number }, string>>();
const named = jobs.schedule("named", StaticReport);
same<typeof named, Definition<{ day: number }, void>>();
const resolved = jobs.schedule(Abstract);
same<typeof resolved, Definition<{ id: string }, void>>();
const daily = jobs.schedule([Reports, "daily"]);
same<typeof daily, Definition<{ day: number }, void>>();
const weekly = jobs.schedule([Reports, "weekly"]);
same<typeof weekly, Definition<{ week: number }, number>>();
const namedWeekly = jobs.define("weekly", [Reports, "weekly"]);
same<typeof namedWeekly, Definition<{ week: number }, number>>();

const dispatched = jobs.dispatch(StaticReport, { day: 1 });
same<typeof dispatched, Dispatch<{ day: number }, void>>();
same<Awaited<typeof dispatched>, Run<void>>();
same<Awaited<ReturnType<typeof weeklyRun.wait>>, number>();
const weeklyRun = await jobs.dispatch([Reports, "weekly"], { week: 1 });
jobs.dispatch(InstanceReport, { week: 1 }).delay(5);
jobs.dispatch(InstanceReport, { week: 1 }, 3600);
jobs.dispatch([Reports, "daily"], { day: 1 }, { queue: "reports" });
jobs.dispatch([Reports, "weekly"], { week: 1 });
// @ts-expect-error: days are numbers
jobs.dispatch(StaticReport, { day: "monday" });
// @ts-expect-error: this one takes a week
jobs.dispatch(InstanceReport, { day: 1 });
// @ts-expect-error: of a method as well
jobs.dispatch([Reports, "daily"], { week: 1 });
// @ts-expect-error: of an instance's method too
jobs.dispatch([Reports, "weekly"], { day: 1 });
// @ts-expect-error: its handler needs arguments
jobs.dispatch(StaticReport);
// @ts-expect-error: null gives none
jobs.dispatch(InstanceReport, null, 3600);
// @ts-expect-error: of a method as well
jobs.dispatch([Reports, "weekly"]);
// @ts-expect-error: the chain knows
jobs.dispatch(StaticReport, { day: 1 }).args({ day: "monday" });

// Drafts and the registrar's form take them too.
jobs.delay(5).dispatch(StaticReport, { day: 1 });
jobs.args({ day: 1 }).delay(5).dispatch(StaticReport);
jobs.args({ day: 1 }).dispatch([Reports, "daily"]);
jobs.register([Reports, "daily"], { day: 1 }, new Date(), "Dev");
jobs.register(StaticReport, { day: 1 });
jobs.recur([Reports, "daily"], "* * * * *", { args: { day: 1 } });
jobs.dispatchHere(StaticReport, { day: 1 });
// @ts-expect-error: a draft without arguments has none to give
jobs.delay(5).dispatch(StaticReport);
// @ts-expect-error: nor has the registrar's form
jobs.register(StaticReport);
// @ts-expect-error: days are numbers
jobs.register([Reports, "daily"], { day: "monday" });
// @ts-expect-error: those of a schedule too
jobs.recur([Reports, "daily"], "* * * * *", { args: { week: 1 } });
// @ts-expect-error: and those of a run of this instance
jobs.dispatchHere(StaticReport);
// @ts-expect-error: no class, no name
jobs.delay(5).dispatch(42);
