import type { Registry } from "../job/registry.ts";
import { Ticks } from "../job/ticks.ts";
import type { Store, SyncRequest } from "../store/store.ts";
import type { Clock } from "../time.ts";
import { SYNC_EVERY } from "./janitor.ts";

export interface JobSyncParts {
  id: string;
  clock: Clock;
  registry: Registry;
  queueLimits: ReadonlyMap<string, number>;
}

/** Tells the database which jobs are defined here, as they are now. */
export class JobSync {
  readonly registry: Registry;
  readonly ticks: Ticks;
  readonly #parts: JobSyncParts;
  #startedAt: number | null = null;
  /** What the database was last told; null: it has changed since. */
  #shown: SyncRequest["jobs"] | null = null;
  #shownAt = 0;

  constructor(parts: JobSyncParts) {
    this.#parts = parts;
    this.registry = parts.registry;
    this.ticks = new Ticks(parts.registry);
  }

  changed(): void {
    this.#shown = null;
  }

  /** What is defined from now on is newer than whatever was shown before, here or elsewhere. */
  renew(): void {
    this.#startedAt = null;
    this.changed();
  }

  /** By the database's time, for it decides whose definitions are the latest. */
  async startedAt(store: Store): Promise<number> {
    this.#startedAt ??= await store.now();
    return this.#startedAt;
  }

  async show(store: Store): Promise<void> {
    const { registry, queueLimits, id, clock } = this.#parts;
    this.#shown ??= registry.fromEach((definition) => this.ticks.show(definition));
    this.#shownAt = clock.now();
    await store.syncJobs({
      worker: id,
      startedAt: await this.startedAt(store),
      jobs: this.#shown,
      queues: [...queueLimits].map(([name, limit]) => ({ name, limit })),
    });
  }

  /** Passes that come one after the other show the jobs as often as a worker does. */
  get isStale(): boolean {
    return this.#shown === null || this.#parts.clock.now() - this.#shownAt >= SYNC_EVERY;
  }
}
