import { PunctualError } from "../errors.ts";
import type { Inspection, InstallReport } from "./maintenance.ts";
import { type DatabaseSource, kindOf, type OpenOptions, openStore } from "./open.ts";
import { Pending } from "./pending.ts";
import type { Store } from "./store.ts";

/** A store that is opened when it is first needed, so that defining jobs touches no database. */
export class LazyStore {
  readonly #source: DatabaseSource;
  readonly #options: OpenOptions & { install: boolean };
  readonly pending: Pending = new Pending();
  #opened: Promise<Store> | null = null;
  #closed = false;

  constructor(source: DatabaseSource, options: OpenOptions & { install: boolean }) {
    kindOf(source);
    this.#source = source;
    this.#options = { ...options, pending: this.pending };
  }

  get(): Promise<Store> {
    if (this.#closed) {
      return Promise.reject(
        new PunctualError("CLOSED", "This instance was stopped, and its database is closed."),
      );
    }
    return this.#opened ?? this.#keep(this.#open());
  }

  async install(options: { dryRun?: boolean }): Promise<InstallReport> {
    if (this.#opened) return (await this.#opened).install(options);
    if (options.dryRun) {
      const store = await openStore(this.#source, this.#options);
      return store.install(options).finally(() => store.close());
    }
    const installing = this.#installing();
    this.#keep(installing.then(({ store }) => store));
    return (await installing).report;
  }

  /** Tables that are missing or of another version are no fault here. */
  async inspect(): Promise<Inspection> {
    if (this.#opened) return (await this.#opened).inspect();
    const store = await openStore(this.#source, this.#options);
    return store.inspect().finally(() => store.close());
  }

  async close(): Promise<void> {
    this.#closed = true;
    const store = await this.#opened?.catch(() => null);
    await store?.close();
  }

  async #open(): Promise<Store> {
    const store = await openStore(this.#source, this.#options);
    try {
      await store.verify().catch(async (error) => {
        // Only where something is missing: installing takes the write lock, which the caller's transaction may hold.
        const missing = error instanceof PunctualError && error.code === "NOT_INSTALLED";
        if (!missing || store.database !== "sqlite" || !this.#options.install) throw error;
        await store.install();
      });
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  #keep(opening: Promise<Store>): Promise<Store> {
    this.#opened = opening.catch((error) => {
      // The next call tries again: the folder may exist by then.
      this.#opened = null;
      throw error;
    });
    // Whoever asked for it hears of the fault; that it is also kept must not make it one that nobody heard.
    this.#opened.catch(() => {});
    return this.#opened;
  }

  async #installing(): Promise<{ store: Store; report: InstallReport }> {
    const store = await openStore(this.#source, this.#options);
    try {
      return { store, report: await store.install() };
    } catch (error) {
      await store.close();
      throw error;
    }
  }
}
