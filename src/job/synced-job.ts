import { fingerprintOf, Schedule } from "../schedule/schedule.ts";
import type { TickableJob, TickableSchedule } from "../schedule/ticker.ts";
import type { JobDetails } from "../store/store.ts";
import type { Definition } from "./definition.ts";

/**
 * A definition as it was when it was synced with the database. A small object: a program may define thousands of
 * jobs.
 */
export class SyncedJob implements TickableJob {
  readonly #definition: Definition<never>;
  /** A number takes half the memory of its text. */
  readonly #fingerprint: number;
  #schedules: Map<string, Schedule> | null = null;

  constructor(definition: Definition<never>) {
    this.#definition = definition;
    this.#fingerprint = definition.fingerprint();
    if (!definition.settings.keyOf) return;
    // Throws here, where the caller sees the error, if a key cannot be computed; otherwise a tick would fail.
    for (const { slot, parts } of definition.schedules()) definition.tickLane(slot, parts);
  }

  get fingerprint(): string {
    return this.#fingerprint.toString(36);
  }

  get name(): string {
    return this.#definition.name;
  }

  get implicit(): boolean {
    return this.#definition.isImplicit;
  }

  get formerly(): readonly string[] {
    return this.#definition.formerNames;
  }

  get under(): string | null {
    return this.#definition.settings.rates?.under?.limit ?? null;
  }

  details(): JobDetails {
    const { settings } = this.#definition;
    return {
      queue: settings.queue,
      priority: settings.priority,
      limit: settings.concurrency,
      keyLimit: settings.perKey,
      rates: settings.rates,
      cron: this.#definition.toCron(),
      schedules: this.#definition.schedules().map(({ slot, parts }) => {
        const { cron, timezone, args, queue } = parts;
        // Parsed only for a schedule that has changed: after most starts none has.
        const next = (after: number) => new Schedule(parts).next(after);
        return { slot, cron, timezone, args, queue, fingerprint: fingerprintOf(parts), next };
      }),
    };
  }

  /**
   * Returns one of its schedules. Parses them all on first use: of thousands of jobs, few become due in one process.
   */
  schedule(slot: string): TickableSchedule | undefined {
    this.#schedules ??= new Map(
      this.#definition.schedules().map(({ slot, parts }) => [slot, new Schedule(parts)]),
    );
    const schedule = this.#schedules.get(slot);
    if (!schedule) return undefined;
    const { name, settings } = this.#definition;
    const { queue, args } = schedule.parts;
    const lane = this.#definition.tickLane(slot, schedule.parts);
    const { priority } = settings;
    return { schedule, run: { name, queue: queue ?? settings.queue, lane, priority, args } };
  }
}
