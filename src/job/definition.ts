import { createHash } from "node:crypto";
import { PunctualError, show } from "../errors.ts";
import { checkName } from "../run/names.ts";
import { Plan } from "../schedule/plan.ts";
import type { Instant } from "../time.ts";
import { Configurable, lendMethods } from "./configurable.ts";
import { Dispatchable, type Home } from "./dispatchable.ts";
import type { JobDraft } from "./draft.ts";
import { type Frequencies, frequencies } from "./frequencies.ts";
import type { Handler } from "./handlers.ts";
import type { StandardSchema } from "./schema.ts";
import type { Settings } from "./settings.ts";

// Every merged method is put on the prototype below the class.
export interface Definition<Args = unknown> extends Configurable<Args>, Frequencies<Definition<Args>> {}

/** A job: what should happen, when, and how. Each call but the dispatching ones changes the definition and returns it. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the methods are lent to the prototype.
export class Definition<Args = unknown> extends Dispatchable<Args> {
  readonly handler: Handler<unknown>;
  readonly schema: StandardSchema | null;
  readonly settings: Settings;
  readonly plan: Plan = new Plan();
  readonly formerNames: string[] = [];

  constructor(
    name: string,
    handler: Handler<unknown>,
    schema: StandardSchema | null,
    settings: Settings,
    home: Home,
  ) {
    super(name, home);
    this.handler = handler;
    this.schema = schema;
    this.settings = settings;
  }

  override at(instant: Instant): JobDraft<Args> {
    if (typeof instant === "string" && /^\d{1,2}(:\d{1,2}){0,2}$/.test(instant.trim())) {
      throw new PunctualError(
        "INVALID_INSTANT",
        `at() dispatches at an instant, such as "2026-12-01T10:00:00Z"; got ${show(instant)}. For a schedule at this time every day use dailyAt(${show(instant)}).`,
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

  /** Takes over everything of a job that had another name: its runs, history and state. */
  formerly(...names: string[]): this {
    this.formerNames.push(...names.map((name) => checkName(name, "a job name")));
    return this;
  }

  /** Whether any limit may hold its runs back. */
  get limited(): boolean {
    return this.settings.concurrency > 0 || this.settings.perKey > 0;
  }

  /** Changes with whatever other processes have to know of the job. */
  fingerprint(): string {
    const { queue, priority, concurrency, perKey } = this.settings;
    const known = [queue, priority, concurrency, perKey, this.plan.toCron(), this.plan.timezone];
    return createHash("sha256").update(JSON.stringify(known)).digest("hex").slice(0, 16);
  }
}

lendMethods(Configurable.prototype, Definition.prototype);

for (const [name, fieldsFor] of Object.entries(frequencies)) {
  Object.defineProperty(Definition.prototype, name, {
    value: function (this: Definition, ...args: never[]) {
      this.plan.edit((fieldsFor as (...args: never[]) => ReturnType<typeof fieldsFor>)(...args));
      return this;
    },
  });
}
