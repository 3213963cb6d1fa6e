import type { Logger } from "../events/logger.ts";
import type { Registry } from "../job/registry.ts";
import type { Store } from "../store/store.ts";

/** Lease of jobs that do not set one. */
export const DEFAULT_LEASE = 60_000;

/** Jobs in a claim request: the names that this process does not define, and unusual leases. Cached. */
export class KnownJobs {
  readonly #store: Store;
  readonly #registry: Registry;
  /** Names that this process does not define and that have no row: a run may be retried after its job was pruned. */
  readonly #refused = new Set<string>();
  #elsewhere: string[] | null = null;
  #leases: Record<string, number> | null = null;

  constructor(store: Store, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** Clears the cache: jobs were defined here or synced by others. */
  forget(): void {
    this.#elsewhere = null;
    this.#leases = null;
  }

  /**
   * Handles a claimed run whose job this process does not define. If the name is a former name of a job, the store
   * moves the run to that job; otherwise this worker claims no more runs of that name.
   */
  async refuse({ id, name }: { id: number; name: string }, logger: Logger): Promise<void> {
    if ((await this.#store.adopt(id)) || this.#refused.has(name)) return;
    this.#refused.add(name);
    this.#elsewhere = null;
    logger.info(
      `${JSON.stringify(name)} is not defined in this process: its runs wait for a worker that defines it`,
    );
  }

  /** Returns the names of jobs that the database knows and this process does not define. */
  async elsewhere(): Promise<string[]> {
    if (this.#elsewhere === null) {
      const names = new Set([...(await this.#store.jobNames()), ...this.#refused]);
      this.#elsewhere = [...names].filter((name) => !this.#registry.definition(name));
    }
    return this.#elsewhere;
  }

  /** Returns the leases that differ from `DEFAULT_LEASE`, by job name. */
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
