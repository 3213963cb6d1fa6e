import type { Schedule } from "../schedule/schedule.ts";
import type { DueSchedule, JobSync, ScheduleSync, TickRun } from "../store/store.ts";
import { type Definition, laneOf } from "./definition.ts";

interface Entry {
  fingerprint: string;
  schedules: Map<string, { schedule: Schedule; run: Omit<TickRun, "tickAt"> }>;
}

/** The schedules of an instance's definitions, made ready when the definitions are shown and asked at every tick. */
export class Ticks {
  readonly #queueLimits: ReadonlyMap<string, number>;
  readonly #entries = new Map<string, Entry>();

  constructor(queueLimits: ReadonlyMap<string, number>) {
    this.#queueLimits = queueLimits;
  }

  /** What the database is to know of a definition; from now on its schedules tick as they are now. */
  show(definition: Definition<never>): JobSync["jobs"][number] {
    const { name, settings, plan, formerNames } = definition;
    const schedules = definition.schedules();
    const fingerprint = definition.fingerprint(schedules);
    this.#entries.set(name, {
      fingerprint,
      schedules: new Map(
        schedules.map(({ slot, schedule }) => [slot, { schedule, run: this.#runOf(definition, schedule) }]),
      ),
    });
    return {
      name,
      queue: settings.queue,
      priority: settings.priority,
      limit: settings.concurrency,
      keyLimit: settings.perKey,
      cron: plan.toCron(),
      fingerprint,
      formerly: formerNames,
      schedules: schedules.map(toSync),
    };
  }

  /** The schedule as this process defines it, if it has the say: other code that defines the job may be newer. */
  find(due: DueSchedule): { schedule: Schedule; run: Omit<TickRun, "tickAt"> } | null {
    const entry = this.#entries.get(due.job);
    return entry?.fingerprint === due.jobFingerprint ? (entry.schedules.get(due.slot) ?? null) : null;
  }

  #runOf(definition: Definition<never>, { parts }: Schedule): Omit<TickRun, "tickAt"> {
    const { name, settings } = definition;
    const queue = parts.queue ?? settings.queue;
    const key = definition.keyOf(parts.args === null ? {} : JSON.parse(parts.args));
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

function toSync({ slot, schedule }: { slot: string; schedule: Schedule }): ScheduleSync {
  const { cron, timezone, args, queue } = schedule.parts;
  const next = (after: number) => schedule.next(after);
  return { slot, cron, timezone, args, queue, fingerprint: schedule.fingerprint(), next };
}
