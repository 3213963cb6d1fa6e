import type { Registry } from "../job/registry.ts";
import { SyncedJob } from "../job/synced-job.ts";
import type { TickableJob } from "../schedule/ticker.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "../time.ts";

/** Interval between two syncs of the same definitions: a job that no worker syncs counts as unseen. */
export const SYNC_EVERY = 30_000;

export interface JobSyncParts {
  id: string;
  clock: Clock;
  registry: Registry;
  queueLimits: ReadonlyMap<string, number>;
}

/** Keeps the database's copy of the jobs that a registry defines up to date. */
export class JobSync {
  readonly registry: Registry;
  readonly #parts: JobSyncParts;
  readonly #tickableJobs = new Map<string, TickableJob>();
  #startedAt: number | null = null;
  /** The jobs of the last sync; null: a definition has changed since. */
  #synced: SyncedJob[] | null = null;
  #syncedAt = 0;

  constructor(parts: JobSyncParts) {
    this.#parts = parts;
    this.registry = parts.registry;
  }

  /** The jobs of the last sync, by name: their schedules tick as they were then. */
  get tickableJobs(): ReadonlyMap<string, TickableJob> {
    return this.#tickableJobs;
  }

  /** Whether a definition has changed since the last sync, or the last sync is too long ago. */
  get isStale(): boolean {
    return this.#synced === null || this.#parts.clock.now() - this.#syncedAt >= SYNC_EVERY;
  }

  changed(): void {
    this.#synced = null;
  }

  /** Makes these definitions newer than all that were synced before, here or by another process. */
  renew(): void {
    this.#startedAt = null;
    this.changed();
  }

  /** Returns when these definitions were started, on the database's clock: of two workers, the later start wins. */
  async startedAt(store: Store): Promise<number> {
    this.#startedAt ??= await store.now();
    return this.#startedAt;
  }

  async sync(store: Store): Promise<void> {
    const { queueLimits, id, clock } = this.#parts;
    const jobs = this.#synced ?? this.#capture();
    this.#syncedAt = clock.now();
    await store.syncJobs({
      worker: id,
      startedAt: await this.startedAt(store),
      jobs,
      queues: [...queueLimits].map(([name, limit]) => ({ name, limit })),
    });
  }

  #capture(): SyncedJob[] {
    const jobs = this.registry.fromEach((definition) => new SyncedJob(definition));
    this.#tickableJobs.clear();
    for (const job of jobs) this.#tickableJobs.set(job.name, job);
    this.#synced = jobs;
    return jobs;
  }
}
