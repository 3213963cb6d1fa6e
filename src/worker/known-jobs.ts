import type { Logger } from "../events/logger.ts";
import type { Registry } from "../job/registry.ts";
import type { Store } from "../store/store.ts";

/** Of jobs that say nothing else. */
export const DEFAULT_LEASE = 60_000;

/** What a claim has to say about jobs: which ones are not ours, and which leases differ. Kept until something changes. */
export class KnownJobs {
  readonly #store: Store;
  readonly #registry: Registry;
  /** Names without a row: a run may come back from history after its job was pruned. */
  readonly #refused = new Set<string>();
  #elsewhere: string[] | null = null;
  #leases: Record<string, number> | null = null;

  constructor(store: Store, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** Jobs were defined here, or shown by others. */
  forget(): void {
    this.#elsewhere = null;
    this.#leases = null;
  }

  /**
   * A run was claimed here whose name nobody here defines: this worker claims no more of that name, unless it is a
   * former one; then the run is moved to its job.
   */
  async refuse({ id, name }: { id: number; name: string }, logger: Logger): Promise<void> {
    if ((await this.#store.adopt(id)) || this.#refused.has(name)) return;
    this.#refused.add(name);
    this.#elsewhere = null;
    logger.info(
      `${JSON.stringify(name)} is not defined here: its runs wait for a worker that was started with it`,
    );
  }

  /** Jobs that the database knows and this process does not define. */
  async elsewhere(): Promise<string[]> {
    if (this.#elsewhere === null) {
      const names = new Set([...(await this.#store.jobNames()), ...this.#refused]);
      this.#elsewhere = [...names].filter((name) => !this.#registry.definition(name));
    }
    return this.#elsewhere;
  }

  unusualLeases(): Record<string, number> {
    if (this.#leases === null) {
      this.#leases = Object.create(null) as Record<string, number>;
      for (const { name, settings } of this.#registry.definitions()) {
        if (settings.lease !== DEFAULT_LEASE) this.#leases[name] = settings.lease;
      }
    }
    if (!this.#registry.hasAdHoc()) return this.#leases;
    const leases = Object.assign(Object.create(null), this.#leases);
    for (const { name, settings } of this.#registry.adHocs()) leases[name] = settings.lease;
    return leases;
  }
}
