import { brand, formatValue, PunctualError } from "../errors.ts";
import { encodePayload } from "../run/payload.ts";
import { type FieldTexts, Plan, type ScheduleOverrides } from "../schedule/plan.ts";
import type { ScheduleParts } from "../schedule/schedule.ts";
import { digest } from "../schedule/schedule.ts";
import type { Instant } from "../time.ts";
import { checkName } from "../validate/names.ts";
import type { CallSite } from "./call-site.ts";
import { Configurable } from "./configurable.ts";
import { deriveMethods, type Method, methodsOf } from "./derived-methods.ts";
import type { JobDraft } from "./dispatchable.ts";
import { Dispatchable, type Home } from "./dispatchable.ts";
import { type Frequencies, frequencies } from "./frequencies.ts";
import type { Handler } from "./handlers.ts";
import { laneFor } from "./key.ts";
import { lateSetting, refuseLate } from "./late-settings.ts";
import { Schedulable } from "./schedulable.ts";
import type { StandardSchema } from "./schema.ts";
import type { Settings } from "./settings.ts";
import { Turn } from "./turn.ts";

const NO_NAMES: readonly string[] = [];

export interface DefinitionParts {
  name: string;
  handler: Handler<unknown>;
  schema: StandardSchema | null;
  settings: Settings;
  home: Home;
  callSite: CallSite | null;
}

// deriveMethods() adds the methods of these types below the class.
export interface Definition<Args = unknown, Result = unknown, Own extends boolean = boolean, Handled = Args>
  extends Configurable<Args, Handled>,
    Schedulable,
    Frequencies<Definition<Args, Result, Own, Handled>> {
  /** The arguments of ticks, and of dispatches that give none. */
  args(args: Args): Definition<Args, Result, true, Handled>;
}

/**
 * A job: a name, a handler and settings. Until the first await after `define()`, a setting changes the definition and
 * returns it. Later, a setting that a single run can have returns a draft of such a run; any other setting throws.
 *
 * `Args`: the arguments of a dispatch. `Result`: what the handler returns. `Own`: whether `args()` was called.
 * `Handled`: the arguments that the handler gets.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: deriveMethods() adds the methods.
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
  /** The call of `define()`; null: another process defines the job. */
  readonly callSite: CallSite | null;
  readonly #turn = Turn.current();
  /** Whether `takeUnchecked()` of its registry has returned it. */
  isChecked = false;
  /** Whether it was made by a dispatch of its class or a lookup of its name, without define() or recur(). */
  isImplicit = false;
  #recurring: Map<string, { plan: Plan; overrides: ScheduleOverrides }> | null = null;

  constructor(parts: DefinitionParts) {
    super(parts.name, parts.home);
    this.handler = parts.handler;
    this.schema = parts.schema;
    this.settings = parts.settings;
    this.callSite = parts.callSite;
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

  /** Adds a schedule. Adding an equal schedule again has no effect. */
  recur(plan: Plan, overrides: ScheduleOverrides): void {
    const { misfire, windows, start, end, environments } = plan.bounds;
    const isBound = windows.length > 0 || start !== null || end !== null || environments !== null;
    // The slot of a schedule without bounds must not change: the database finds the schedule's mark by it.
    const bounds = isBound ? [windows, start, end, environments] : [];
    const what = JSON.stringify([plan.toCron(), plan.timezone, misfire, overrides, ...bounds]);
    this.isImplicit = false;
    this.#recurring ??= new Map();
    this.#recurring.set(digest(what).toString(36), { plan, overrides });
  }

  /** Returns the schedules that tick in this environment. A slot identifies a schedule in the database. */
  schedules(): { slot: string; parts: ScheduleParts }[] {
    return this.#schedules(here).map(({ slot, parts }) => ({ slot, parts }));
  }

  /** Returns the schedules that tick in an environment. `environments`: those it is limited to; null: all. */
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

  /** Names that the job had before: it takes over their runs, history and state. */
  formerly(...names: string[]): this {
    if (this.isSealed) return lateSetting(this as never, this.home, "formerly", names) as this;
    if (names.includes(this.name)) {
      throw new PunctualError(
        "INVALID_NAME",
        `formerly() of job "${this.name}" expected names that the job had before, got ${formatValue(this.name)}, the name it has.`,
      );
    }
    this.formerNames = [...this.formerNames, ...names.map((name) => checkName(name, "a job name"))];
    return this;
  }

  /** Returns the lane of a run that a tick creates. */
  tickLane(_slot: string, { args }: ScheduleParts): string {
    return laneFor(this.name, this.settings, () => (args === null ? {} : JSON.parse(args)));
  }

  toCron(): string | null {
    return this.plan.toCron();
  }

  /** Returns a number that changes with everything that other processes must know about the job. */
  fingerprint(): number {
    const { queue, priority, concurrency, perKey, rates } = this.settings;
    // Without rates the fingerprint is that of older versions, whose workers define the same jobs.
    const more = rates ? [rates] : [];
    return digest(JSON.stringify([queue, priority, concurrency, perKey, this.schedules(), ...more]));
  }
}

brand(Definition, "Definition");

/** All settings but `formerly()`. Each changes the definition that it is called on and returns it. */
const settings: (readonly [name: string, set: Method<Definition<never>>])[] = [
  ...methodsOf(Configurable<never>),
  ...methodsOf(Schedulable),
  ...Object.entries(frequencies).map(([name, fieldsOf]) => [name, frequencySetting(fieldsOf)] as const),
];

deriveMethods(Definition, settings, (name, set) => {
  return function (this: Definition<never>, ...args) {
    return this.isSealed ? lateSetting(this, this.home, name, args) : set.apply(this, args);
  };
});
refuseLate([...settings.map(([name]) => name), "formerly"]);

function frequencySetting(fieldsOf: (...args: never[]) => FieldTexts): Method<Definition<never>> {
  return function (...args) {
    this.plan.edit(fieldsOf(...(args as never[])));
    return this;
  };
}

/** Returns the environment of this process. Slow, as it reads `process.env`: called only for plans that name one. */
function here(): string {
  return process.env.PUNCTUAL_ENV ?? process.env.NODE_ENV ?? "";
}
