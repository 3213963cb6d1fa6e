import type { Schedule } from "../schedule/schedule.ts";
import type { DueSchedule, JobDetails, JobSync, TickRun } from "../store/store.ts";
import { type Definition, laneOf } from "./definition.ts";

interface Entry {
  definition: Definition<never>;
  fingerprint: string;
  schedules: { slot: string; schedule: Schedule }[];
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
    const { name, formerNames } = definition;
    const schedules = definition.schedules();
    const fingerprint = definition.fingerprint(schedules);
    const entry = { definition, fingerprint, schedules };
    this.#entries.set(name, entry);
    // Refused now, when somebody hears of it, rather than at a tick.
    for (const { schedule } of schedules) this.#runOf(entry, schedule);
    return { name, fingerprint, formerly: formerNames, details: () => detailsOf(entry) };
  }

  /** The schedule as this process defines it, if it has the say: other code that defines the job may be newer. */
  find(due: DueSchedule): { schedule: Schedule; run: Omit<TickRun, "tickAt"> } | null {
    const entry = this.#entries.get(due.job);
    if (entry?.fingerprint !== due.jobFingerprint) return null;
    const found = entry.schedules.find(({ slot }) => slot === due.slot);
    return found ? { schedule: found.schedule, run: this.#runOf(entry, found.schedule) } : null;
  }

  #runOf({ definition }: Entry, { parts }: Schedule): Omit<TickRun, "tickAt"> {
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

/** Only asked for where the database does not have it yet: thousands of definitions are shown again and again. */
function detailsOf({ definition, schedules }: Entry): JobDetails {
  const { settings, plan } = definition;
  return {
    queue: settings.queue,
    priority: settings.priority,
    limit: settings.concurrency,
    keyLimit: settings.perKey,
    cron: plan.toCron(),
    schedules: schedules.map(({ slot, schedule }) => {
      const { cron, timezone, args, queue } = schedule.parts;
      const next = (after: number) => schedule.next(after);
      return { slot, cron, timezone, args, queue, fingerprint: schedule.fingerprint(), next };
    }),
  };
}
