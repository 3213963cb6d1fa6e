import type { Logger } from "../events/logger.ts";
import type { QueueLimit, QueueOrders } from "../job/queue-orders.ts";
import type { Registry } from "../job/registry.ts";
import { SyncedJob } from "../job/synced-job.ts";
import type { TickableJob } from "../schedule/ticker.ts";
import type { Store } from "../store/store.ts";
import { type Clock, MINUTE } from "../time.ts";

/** Interval between two syncs of the same definitions: a worker takes over the jobs of another one that has ended. */
export const SYNC_EVERY = 30_000;

/** A sync reads every job at least this often, also if nothing seems to have changed. */
const FULL_SYNC_EVERY = 30 * MINUTE;

export interface JobSyncParts {
  id: string;
  clock: Clock;
  registry: Registry;
  queueLimits: ReadonlyMap<string, QueueLimit>;
  namedLimits: ReadonlyMap<string, QueueLimit>;
  queueOrders: QueueOrders;
  logger: Pick<Logger, "warn">;
}

/** Keeps the database's copy of the jobs that a registry defines up to date. */
export class JobSync {
  readonly registry: Registry;
  readonly queueOrders: QueueOrders;
  readonly #parts: JobSyncParts;
  readonly #tickableJobs = new Map<string, TickableJob>();
  #startedAt: number | null = null;
  /** The jobs of the last sync; null: a definition has changed since. */
  #synced: SyncedJob[] | null = null;
  #syncedAt = 0;
  /** The census of the last sync that read every job; null: the next one must. */
  #census: string | null = null;
  #readAt = 0;
  /** Undefined limits that were warned of. */
  readonly #warned = new Set<string>();

  constructor(parts: JobSyncParts) {
    this.#parts = parts;
    this.registry = parts.registry;
    this.queueOrders = parts.queueOrders;
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
    this.#census = null;
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

  /** Returns false if nothing has changed in the database since the last sync. */
  async sync(store: Store): Promise<boolean> {
    const { queueLimits, namedLimits, queueOrders, id, clock } = this.#parts;
    const jobs = this.#synced ?? this.#capture();
    const now = clock.now();
    this.#syncedAt = now;
    const queues = [...queueLimits].map(([name, limit]) => ({ name, ...limit }));
    const limits = [...namedLimits].map(([name, limit]) => ({ name, ...limit }));
    const last = now - this.#readAt < FULL_SYNC_EVERY ? this.#census : null;
    this.#census = null;
    const startedAt = await this.startedAt(store);
    const orders = queueOrders.list();
    const request = { worker: id, startedAt, jobs, queues, limits, orders, census: last };
    const { census, isUnchanged, undefinedLimits } = await store.syncJobs(request);
    for (const name of undefinedLimits) this.#warnOfUndefined(name);
    // A definition may have changed while the sync was under way.
    if (this.#synced === jobs) this.#census = census;
    if (!isUnchanged) this.#readAt = now;
    return !isUnchanged;
  }

  /** Warns once for each name: it may be misspelt, or the process that defines the limit may not be deployed yet. */
  #warnOfUndefined(name: string): void {
    if (this.#warned.has(name)) return;
    this.#warned.add(name);
    const jobs = this.registry.fromEach(({ name: job, settings }) =>
      settings.rates?.under?.limit === name ? [`"${job}"`] : [],
    );
    this.#parts.logger.warn(
      `no process has defined the limit "${name}": runs of ${jobs.flat().join(", ")} wait until one calls limit("${name}", …). Check the name in under()`,
    );
  }

  #capture(): SyncedJob[] {
    const jobs = this.registry.fromEach((definition) => new SyncedJob(definition));
    this.#tickableJobs.clear();
    for (const job of jobs) this.#tickableJobs.set(job.name, job);
    this.#synced = jobs;
    return jobs;
  }
}
