import { brand, formatValue, PunctualError } from "../errors.ts";
import { encodePayload } from "../run/payload.ts";
import { Plan, type ScheduleOverrides } from "../schedule/plan.ts";
import type { Misfire, ScheduleParts } from "../schedule/schedule.ts";
import { digest } from "../schedule/schedule.ts";
import { toWindow } from "../schedule/window.ts";
import type { Instant } from "../time.ts";
import { checkName } from "../validate/names.ts";
import type { CallSite } from "./call-site.ts";
import { Configurable } from "./configurable.ts";
import type { JobDraft } from "./dispatchable.ts";
import { Dispatchable, type Home } from "./dispatchable.ts";
import { type Frequencies, frequencies } from "./frequencies.ts";
import type { Handler } from "./handlers.ts";
import { laneFor } from "./key.ts";
import { lateSetting, refuseLate } from "./late.ts";
import { checkedInstant, type MisfireOptions, toEnvironments, toMisfire } from "./recurrence.ts";
import type { StandardSchema } from "./schema.ts";
import type { Settings } from "./settings.ts";
import { Turn } from "./turn.ts";

const NO_NAMES: readonly string[] = [];

// Every merged method is added to the prototype below the class.
export interface Definition<Args = unknown, Result = unknown, Own extends boolean = boolean, Handled = Args>
  extends Configurable<Args, Handled>,
    Frequencies<Definition<Args, Result, Own, Handled>> {
  /** The arguments of ticks, and of dispatches that give none. */
  args(args: Args): Definition<Args, Result, true, Handled>;
}

/**
 * A job: what should happen, when, and how. A setting changes the definition and returns it, until the first await after
 * the definition was made. Later a setting that one run can have gives a draft of such a run, and any other one throws.
 *
 * Types: what a dispatch passes, what the handler returns, whether `args()` gave arguments, and what the handler gets.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the methods are lent to the prototype.
export class Definition<
  Args = unknown,
  Result = unknown,
  Own extends boolean = boolean,
  // biome-ignore lint/correctness/noUnusedVariables: a type that is merged has the same parameters.
  Handled = Args,
> extends Dispatchable<Args, Result, Own> {
  readonly handler: Handler<unknown>;
  readonly schema: StandardSchema | null;
  readonly settings: Settings;
  readonly plan: Plan = new Plan();
  formerNames: readonly string[] = NO_NAMES;
  /** The call of `define()` that made it; null: another process did. */
  readonly callSite: CallSite | null;
  readonly #turn = Turn.current();
  /** Whether `takeUnchecked()` of its registry has returned it. */
  isChecked = false;
  /** Made when its class was dispatched or its name was asked for, without define() or recur(). */
  isImplicit = false;
  #recurring: Map<string, { plan: Plan; overrides: ScheduleOverrides }> | null = null;

  constructor(
    name: string,
    handler: Handler<unknown>,
    schema: StandardSchema | null,
    settings: Settings,
    home: Home,
    callSite: CallSite | null = null,
  ) {
    super(name, home);
    this.callSite = callSite;
    this.handler = handler;
    this.schema = schema;
    this.settings = settings;
  }

  /** Whether the turn in which it was defined is over: its settings cannot change any more. */
  get isSealed(): boolean {
    return this.#turn.isOver;
  }

  override at(instant: Instant): JobDraft<Args, Result, Own> {
    if (typeof instant === "string" && /^\d{1,2}(:\d{1,2}){0,2}$/.test(instant.trim())) {
      throw new PunctualError(
        "INVALID_INSTANT",
        `at() dispatches at an instant, such as "2026-12-01T10:00:00Z"; got ${formatValue(instant)}. For a schedule at this time every day use dailyAt(${formatValue(instant)}).`,
      );
    }
    return super.at(instant);
  }

  /** A cron expression of five fields, or of six with seconds first. */
  cron(expression: string): this {
    this.plan.replace(expression);
    return this;
  }

  /** The IANA zone its schedule is read in. Default: UTC. */
  timezone(zone: string): this {
    this.plan.inZone(zone);
    return this;
  }

  /** Ticks only from one time of day to another, both included, by the clock of its zone; it may go over midnight. */
  between(from: string, to: string): this {
    this.plan.bind({ windows: [...this.plan.bounds.windows, toWindow(from, to, true)] });
    return this;
  }

  /** Does not tick from one time of day to another. */
  unlessBetween(from: string, to: string): this {
    this.plan.bind({ windows: [...this.plan.bounds.windows, toWindow(from, to, false)] });
    return this;
  }

  /** No tick before this instant. */
  startingAt(instant: Instant): this {
    this.plan.bind({ start: checkedInstant(instant) });
    return this;
  }

  /** No tick after this instant. */
  endingAt(instant: Instant): this {
    this.plan.bind({ end: checkedInstant(instant) });
    return this;
  }

  /**
   * What becomes of ticks that were missed while no worker ran: `once` runs the latest (the default), `skip` none,
   * `all` every one, the latest `limit` (100) of them. Ticks missed by more than `within` are let go.
   */
  misfire(policy: Misfire["policy"], options: MisfireOptions = {}): this {
    this.plan.bind({ misfire: toMisfire(policy, options) });
    return this;
  }

  /** Ticks only where `PUNCTUAL_ENV`, else `NODE_ENV`, is one of these; dispatched runs are not touched. */
  environments(...names: string[]): this {
    this.plan.bind({ environments: toEnvironments(names) });
    return this;
  }

  /** One more schedule of the same job; one that is the same in every way is the one there is. */
  recur(plan: Plan, overrides: ScheduleOverrides): void {
    const { misfire, windows, start, end, environments } = plan.bounds;
    const isBound = windows.length > 0 || start !== null || end !== null || environments !== null;
    // A schedule without further bounds keeps the slot that it had before there were any, and with it its mark.
    const bounds = isBound ? [windows, start, end, environments] : [];
    const what = JSON.stringify([plan.toCron(), plan.timezone, misfire, overrides, ...bounds]);
    this.isImplicit = false;
    this.#recurring ??= new Map();
    this.#recurring.set(digest(what).toString(36), { plan, overrides });
  }

  /** Every schedule of the job in this environment, by a slot that stays the same while the schedule changes. */
  schedules(): { slot: string; parts: ScheduleParts }[] {
    return this.#schedules(here).map(({ slot, parts }) => ({ slot, parts }));
  }

  /** Schedules that tick in an environment, each with the environments it is bound to; null: it is bound to none. */
  schedulesIn(environment: string): { parts: ScheduleParts; environments: readonly string[] | null }[] {
    return this.#schedules(() => environment).map(({ parts, plan }) => ({
      parts,
      environments: plan.bounds.environments,
    }));
  }

  #schedules(environment: () => string): { slot: string; plan: Plan; parts: ScheduleParts }[] {
    const args = encodePayload(this.settings.args) ?? null;
    const found: { slot: string; plan: Plan; parts: ScheduleParts }[] = [];
    const add = (slot: string, plan: Plan, overrides: ScheduleOverrides) => {
      const { environments } = plan.bounds;
      const parts =
        environments === null || environments.includes(environment())
          ? plan.toParts(this.name, overrides)
          : null;
      if (parts) found.push({ slot, plan, parts });
    };
    add("", this.plan, { args, queue: null });
    this.#recurring?.forEach(({ plan, overrides }, slot) => {
      add(slot, plan, overrides);
    });
    return found;
  }

  /** Takes over everything of a job that had another name: its runs, history and state. */
  formerly(...names: string[]): this {
    if (names.includes(this.name)) {
      throw new PunctualError(
        "INVALID_NAME",
        `formerly() of job "${this.name}" expected names that the job had before, got ${formatValue(this.name)}, the name it has.`,
      );
    }
    this.formerNames = [...this.formerNames, ...names.map((name) => checkName(name, "a job name"))];
    return this;
  }

  /** The lane of the run that a tick makes. */
  tickLane(_slot: string, { args }: ScheduleParts): string {
    return laneFor(this.name, this.settings, args === null ? {} : JSON.parse(args));
  }

  toCron(): string | null {
    return this.plan.toCron();
  }

  /** Changes with whatever other processes have to know of the job. */
  fingerprint(): number {
    const { queue, priority, concurrency, perKey } = this.settings;
    return digest(JSON.stringify([queue, priority, concurrency, perKey, this.schedules()]));
  }
}

brand(Definition, "Definition");

/** Makes a setting of a method: it changes the definition only until that is sealed. */
function addSetting(name: string, method: (...args: never[]) => unknown): void {
  refuseLate(name);
  Object.defineProperty(Definition.prototype, name, {
    value: function (this: Definition<never>, ...args: never[]) {
      return this.isSealed ? lateSetting(this, this.home, name, args) : method.apply(this, args);
    },
  });
}

const OWN = [
  "cron",
  "timezone",
  "between",
  "unlessBetween",
  "startingAt",
  "endingAt",
  "misfire",
  "environments",
  "formerly",
] as const;
for (const name of OWN) addSetting(name, Definition.prototype[name] as (...args: never[]) => unknown);

for (const name of Object.getOwnPropertyNames(Configurable.prototype) as (keyof Configurable<never>)[]) {
  if ((name as string) !== "constructor") addSetting(name, Configurable.prototype[name] as never);
}

for (const [name, fieldsFor] of Object.entries(frequencies)) {
  addSetting(name, function (this: Definition, ...args: never[]) {
    this.plan.edit((fieldsFor as (...args: never[]) => ReturnType<typeof fieldsFor>)(...args));
    return this;
  });
}

/** The environment of this process. Asked for only if need be: that is slow, and few plans name any. */
function here(): string {
  return process.env.PUNCTUAL_ENV ?? process.env.NODE_ENV ?? "";
}
