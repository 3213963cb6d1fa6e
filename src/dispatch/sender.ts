import { bisect } from "../bisect.ts";
import { isRefusal } from "../errors.ts";
import { Run, type RunControl } from "../run/run.ts";
import type { InsertResult, NewRun, Store } from "../store/store.ts";
import type { Dispatch, DispatchSender } from "./dispatch.ts";
import { InsertGroup } from "./insert-group.ts";

export interface SenderParts {
  /** Opens the database on first use. */
  openStore(): Promise<Store>;
  /** Validates a dispatch and returns its row. */
  prepare(dispatch: Dispatch<never>, within: boolean): Promise<NewRun> | NewRun;
  control: RunControl;
  /** Called after each insert, to emit events and wake the worker of this process. */
  sent(runs: NewRun[], inserted: InsertResult[]): void;
  /** Called with the error of a dispatch that no caller awaited. */
  unawaited(error: unknown): void;
  maxPayload: number;
}

/** Collects the dispatches of one turn of the event loop and inserts their runs together. */
export class Sender implements DispatchSender {
  readonly #parts: SenderParts;
  #pending: Dispatch<never>[] = [];
  readonly #underway = new Set<Promise<void>>();

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  get maxPayload(): number {
    return this.#parts.maxPayload;
  }

  sendAfterTurn(dispatch: Dispatch<never>): void {
    if (this.#pending.push(dispatch) > 1) return;
    // A nextTick callback set in a microtask runs after all microtasks of this turn: by then every chain is complete.
    queueMicrotask(() => process.nextTick(() => this.#sendPending()));
  }

  withdraw(dispatch: Dispatch<never>): void {
    this.#pending = this.#pending.filter((other) => other !== dispatch);
  }

  sendWithin(dispatch: Dispatch<never>, tx: unknown): void {
    this.withdraw(dispatch);
    dispatch.markSent();
    this.track(this.#send([dispatch], tx));
  }

  unawaited(error: unknown): void {
    this.#parts.unawaited(error);
  }

  /** Resolves when every dispatch so far has been inserted or has failed. */
  async flush(): Promise<void> {
    this.#sendPending();
    while (this.#underway.size > 0) await Promise.all(this.#underway);
  }

  /** Inserts any number of rows, group by group; each group is in the database before the next is sent. */
  async sendMany(rows: AsyncIterable<NewRun>): Promise<Run<never>[]> {
    const sent: Run<never>[] = [];
    const insert = async (group: NewRun[]) => {
      const inserted = await this.#insert(group);
      for (const [index, run] of group.entries()) sent.push(this.#toRun(run, inserted[index]!));
    };
    const sending = (async () => {
      const batch = new InsertGroup();
      for await (const row of rows) {
        const full = batch.add(row);
        if (full) await insert(full);
      }
      const rest = batch.take();
      if (rest.length > 0) await insert(rest);
    })();
    this.track(sending.catch(() => {}));
    await sending;
    return sent;
  }

  async #insert(group: NewRun[], tx?: unknown): Promise<InsertResult[]> {
    const store = await this.#parts.openStore();
    const inserted = await store.insert(group, tx);
    this.#parts.sent(group, inserted);
    return inserted;
  }

  #toRun(run: NewRun, { id, inserted }: InsertResult): Run<never> {
    return new Run(id, run.name, inserted, this.#parts.control);
  }

  #sendPending(): void {
    const dispatches = this.#pending;
    if (dispatches.length === 0) return;
    this.#pending = [];
    for (const dispatch of dispatches) dispatch.markSent();
    this.track(this.#send(dispatches));
  }

  /** `flush()` waits for this too. It must not reject. */
  track(sending: Promise<void>): void {
    this.#underway.add(sending);
    void sending.finally(() => this.#underway.delete(sending));
  }

  /** Never rejects: resolves or rejects each dispatch instead. */
  async #send(dispatches: Dispatch<never>[], tx?: unknown): Promise<void> {
    const prepare = async (dispatch: Dispatch<never>) => {
      try {
        return { dispatch, run: await this.#parts.prepare(dispatch, tx !== undefined) };
      } catch (error) {
        dispatch.reject(error);
        return null;
      }
    };
    const prepared = (await Promise.all(dispatches.map(prepare))).filter((one) => one !== null);
    // A unique key that another open transaction holds blocks the insert: runs without a key must not wait for it.
    const withKey = prepared.filter(({ run }) => run.unique !== null);
    const withoutKey = prepared.filter(({ run }) => run.unique === null);
    await Promise.all([this.#insertInBatches(withoutKey, tx), this.#insertInBatches(withKey, tx)]);
  }

  async #insertInBatches(prepared: PreparedDispatch[], tx?: unknown): Promise<void> {
    const batch = new InsertGroup<PreparedDispatch>(({ run }) => run);
    for (const one of prepared) {
      const full = batch.add(one);
      if (full) await this.#insertBatch(full, tx);
    }
    await this.#insertBatch(batch.take(), tx);
  }

  /**
   * Inserts a batch, and settles its dispatches. If the database refuses one row, only the dispatch of that row fails.
   */
  async #insertBatch(prepared: PreparedDispatch[], tx?: unknown): Promise<void> {
    if (prepared.length === 0) return;
    await bisect(prepared, {
      send: async (part) => {
        const rows = part.map(({ run }) => run);
        const inserted = await this.#insert(rows, tx);
        for (const [index, { dispatch, run }] of part.entries())
          dispatch.resolve(this.#toRun(run, inserted[index]!));
      },
      // In the caller's transaction a refused statement cannot be repeated: on PostgreSQL the transaction has failed.
      divides: (error) => tx === undefined && isRefusal(error),
      refused: (part, error) => {
        for (const { dispatch } of part) dispatch.reject(error);
      },
    });
  }
}

interface PreparedDispatch {
  dispatch: Dispatch<never>;
  run: NewRun;
}
