import { PunctualError } from "../errors.ts";
import type { Inspection, InstallReport } from "./maintenance.ts";
import { type DatabaseSource, type OpenOptions, openStore, preload } from "./open.ts";
import { PendingCalls } from "./pending-calls.ts";
import type { Store } from "./store.ts";

export interface LazyOptions extends OpenOptions {
  install: boolean;
  /** Called with the store once it is open. */
  opened?(store: Store): void;
}

/** Opens the store on first use, so that defining jobs needs no database. Its code is loaded from the start. */
export class LazyStore {
  readonly #source: DatabaseSource;
  readonly #options: LazyOptions;
  readonly pending: PendingCalls = new PendingCalls();
  #opened: Promise<Store> | null = null;
  #closed = false;
  #isPatient = false;

  constructor(source: DatabaseSource, options: LazyOptions) {
    preload(source);
    this.#source = source;
    this.#options = { ...options, pending: this.pending, isPatient: () => this.#isPatient };
  }

  /**
   * Returns the open store. On SQLite, missing tables are installed, unless that is switched off. `isPatient`: a server
   * that was never reached is waited for as long as later: a dispatcher or worker may start during a failover.
   */
  get(isPatient = false): Promise<Store> {
    this.#isPatient ||= isPatient;
    if (this.#closed) {
      return Promise.reject(
        new PunctualError(
          "CLOSED",
          "This instance was stopped, and its database is closed. Create a new Punctual().",
        ),
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
    const installing = this.#openAndInstall();
    this.#keep(installing.then(({ store }) => store));
    return (await installing).report;
  }

  /** Resolves also if tables are missing, old or too new. */
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
      await store.checkSchema().catch(async (error) => {
        // Install only if tables are missing: it takes the write lock, which a transaction of the caller's may hold.
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
    const opened = opening.then((store) => {
      this.#options.opened?.(store);
      return store;
    });
    this.#opened = opened.catch((error) => {
      // The next call opens the store again: a missing folder may exist by then.
      this.#opened = null;
      throw error;
    });
    // The caller handles the rejection of `opening`. Without a handler here, the stored promise would be an unhandled
    // one.
    this.#opened.catch(() => {});
    return this.#opened;
  }

  async #openAndInstall(): Promise<{ store: Store; report: InstallReport }> {
    const store = await openStore(this.#source, this.#options);
    try {
      return { store, report: await store.install() };
    } catch (error) {
      await store.close();
      throw error;
    }
  }
}
