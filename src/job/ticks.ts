import { fingerprintOf, Schedule, type ScheduleParts } from "../schedule/schedule.ts";
import type { DueSchedule, TickRun } from "../store/definitions.ts";
import type { JobDetails, SyncRequest } from "../store/store.ts";
import type { Definition } from "./definition.ts";
import type { Registry } from "./registry.ts";

/** A definition as it is shown to the database. One small object: there may be thousands. */
export class ShownJob {
  readonly definition: Definition<never>;
  /** Half as large as its text. */
  readonly #fingerprint: number;

  constructor(definition: Definition<never>) {
    this.definition = definition;
    this.#fingerprint = definition.fingerprint();
  }

  get fingerprint(): string {
    return this.#fingerprint.toString(36);
  }

  get name(): string {
    return this.definition.name;
  }

  get implicit(): boolean {
    return this.definition.isImplicit;
  }

  get formerly(): readonly string[] {
    return this.definition.formerNames;
  }

  details(): JobDetails {
    const { settings } = this.definition;
    return {
      queue: settings.queue,
      priority: settings.priority,
      limit: settings.concurrency,
      keyLimit: settings.perKey,
      cron: this.definition.toCron(),
      schedules: this.definition.schedules().map(({ slot, parts }) => {
        const { cron, timezone, args, queue } = parts;
        // Read only if it has changed: after most starts nothing has.
        const next = (after: number) => new Schedule(parts).next(after);
        return { slot, cron, timezone, args, queue, fingerprint: fingerprintOf(parts), next };
      }),
    };
  }
}

/** The schedules of an instance's definitions, as they were when the definitions were shown. */
export class Ticks {
  readonly #registry: Registry;
  /** Made ready when one of them is due: of thousands of jobs, few ever are in one process. */
  readonly #ready = new WeakMap<ShownJob, Map<string, Schedule>>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** What the database is to know of a definition; from now on its schedules tick as they are now. */
  show(definition: Definition<never>): SyncRequest["jobs"][number] {
    const shown = new ShownJob(definition);
    definition.shown = shown;
    if (definition.settings.keyOf) {
      // Refused now, when somebody hears of it, rather than at a tick.
      for (const { slot, parts } of definition.schedules()) definition.tickLane(slot, parts);
    }
    return shown;
  }

  /** The schedule as this process defines it, if it has the say: other code that defines the job may be newer. */
  find(due: DueSchedule): { schedule: Schedule; run: Omit<TickRun, "tickAt"> } | null {
    const shown = this.#registry.definition(due.job)?.shown;
    if (!shown || shown.fingerprint !== due.jobFingerprint) return null;
    let schedules = this.#ready.get(shown);
    if (!schedules) {
      const all = shown.definition.schedules();
      schedules = new Map(all.map(({ slot, parts }) => [slot, new Schedule(parts)]));
      this.#ready.set(shown, schedules);
    }
    const schedule = schedules.get(due.slot);
    return schedule ? { schedule, run: this.#runOf(shown.definition, due.slot, schedule.parts) } : null;
  }

  #runOf(definition: Definition<never>, slot: string, parts: ScheduleParts): Omit<TickRun, "tickAt"> {
    const { name, settings } = definition;
    const queue = parts.queue ?? settings.queue;
    return {
      name,
      queue,
      lane: definition.tickLane(slot, parts),
      priority: settings.priority,
      args: parts.args,
    };
  }
}
