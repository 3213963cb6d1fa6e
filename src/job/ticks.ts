import { Schedule } from "../schedule/schedule.ts";
import type { DueSchedule, JobDetails, JobSync, TickRun } from "../store/store.ts";
import { type Definition, laneOf } from "./definition.ts";

/** A definition as it is shown to the database. One small object: there may be thousands. */
class ShownJob {
  readonly definition: Definition<never>;
  readonly fingerprint: string;
  /** Made ready when one of them is due: of thousands of jobs, few ever are in one process. */
  #ready: Map<string, Schedule> | null = null;

  constructor(definition: Definition<never>) {
    this.definition = definition;
    this.fingerprint = definition.fingerprint();
  }

  get name(): string {
    return this.definition.name;
  }

  get formerly(): readonly string[] {
    return this.definition.formerNames;
  }

  schedule(slot: string): Schedule | undefined {
    this.#ready ??= this.schedules();
    return this.#ready.get(slot);
  }

  schedules(): Map<string, Schedule> {
    return new Map(this.definition.schedules().map(({ slot, parts }) => [slot, new Schedule(parts)]));
  }

  details(): JobDetails {
    const { settings, plan } = this.definition;
    return {
      queue: settings.queue,
      priority: settings.priority,
      limit: settings.concurrency,
      keyLimit: settings.perKey,
      cron: plan.toCron(),
      schedules: [...this.schedules()].map(([slot, schedule]) => {
        const { cron, timezone, args, queue } = schedule.parts;
        const next = (after: number) => schedule.next(after);
        return { slot, cron, timezone, args, queue, fingerprint: schedule.fingerprint(), next };
      }),
    };
  }
}

/** The schedules of an instance's definitions, as they were when the definitions were shown. */
export class Ticks {
  readonly #queueLimits: ReadonlyMap<string, number>;
  readonly #shown = new Map<string, ShownJob>();

  constructor(queueLimits: ReadonlyMap<string, number>) {
    this.#queueLimits = queueLimits;
  }

  /** What the database is to know of a definition; from now on its schedules tick as they are now. */
  show(definition: Definition<never>): JobSync["jobs"][number] {
    const shown = new ShownJob(definition);
    this.#shown.set(definition.name, shown);
    if (definition.settings.keyOf) {
      // Refused now, when somebody hears of it, rather than at a tick.
      for (const schedule of shown.schedules().values()) this.#runOf(definition, schedule);
    }
    return shown;
  }

  /** The schedule as this process defines it, if it has the say: other code that defines the job may be newer. */
  find(due: DueSchedule): { schedule: Schedule; run: Omit<TickRun, "tickAt"> } | null {
    const shown = this.#shown.get(due.job);
    if (shown?.fingerprint !== due.jobFingerprint) return null;
    const schedule = shown.schedule(due.slot);
    return schedule ? { schedule, run: this.#runOf(shown.definition, schedule) } : null;
  }

  #runOf(definition: Definition<never>, { parts }: Schedule): Omit<TickRun, "tickAt"> {
    const { name, settings } = definition;
    const queue = parts.queue ?? settings.queue;
    const key = settings.keyOf
      ? definition.keyOf(parts.args === null ? {} : JSON.parse(parts.args))
      : undefined;
    return {
      name,
      queue,
      lane: laneOf(name, key),
      limited: definition.limited || this.#queueLimits.has(queue),
      priority: settings.priority,
      args: parts.args,
    };
  }
}
