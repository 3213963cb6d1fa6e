import { bisect } from "../bisect.ts";
import { isRefusal } from "../errors.ts";
import { Run, type RunControl } from "../run/run.ts";
import type { InsertResult, NewRun, Store } from "../store/store.ts";
import type { Dispatch, Sending } from "./dispatch.ts";

/** A statement carries at most this many runs and about this many bytes of arguments. */
const GROUP_ROWS = 5000;
const GROUP_BYTES = 4 * 1024 * 1024;

export interface SenderParts {
  /** Opens the database on first use. */
  openStore(): Promise<Store>;
  /** What the dispatch comes to as a row; validates it. */
  prepare(dispatch: Dispatch<never>, within: boolean): Promise<NewRun> | NewRun;
  control: RunControl;
  /** After an insert: tells events, wakes the local worker. */
  sent(runs: NewRun[], inserted: InsertResult[]): void;
  unheard(error: unknown): void;
  maxPayload: number;
}

/** Collects the dispatches of one turn and sends them as one insert. */
export class Sender implements Sending {
  readonly #parts: SenderParts;
  #pending: Dispatch<never>[] = [];
  readonly #underway = new Set<Promise<void>>();

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  get maxPayload(): number {
    return this.#parts.maxPayload;
  }

  soon(dispatch: Dispatch<never>): void {
    if (this.#pending.push(dispatch) > 1) return;
    // A tick asked for by a microtask runs after all microtasks of this turn: every chain is complete by then.
    queueMicrotask(() => process.nextTick(() => this.#sendPending()));
  }

  withdraw(dispatch: Dispatch<never>): void {
    this.#pending = this.#pending.filter((other) => other !== dispatch);
  }

  within(dispatch: Dispatch<never>, tx: unknown): void {
    this.withdraw(dispatch);
    dispatch.leave();
    this.#track(this.#send([dispatch], tx));
  }

  unheard(error: unknown): void {
    this.#parts.unheard(error);
  }

  /** Everything asked for so far is in the database, or has failed. */
  async flush(): Promise<void> {
    this.#sendPending();
    while (this.#underway.size > 0) await Promise.all(this.#underway);
  }

  /** Inserts any number of rows, group by group; each group is in the database before the next is sent. */
  async sendMany(rows: AsyncIterable<NewRun>): Promise<Run[]> {
    const sent: Run[] = [];
    const insert = async (group: NewRun[]) => {
      const inserted = await this.#insert(group);
      for (const [index, run] of group.entries()) sent.push(this.#toRun(run, inserted[index]!));
    };
    const sending = (async () => {
      const groups = new Groups();
      for await (const row of rows) {
        const full = groups.add(row);
        if (full) await insert(full);
      }
      const rest = groups.rest();
      if (rest.length > 0) await insert(rest);
    })();
    this.#track(sending.catch(() => {}));
    await sending;
    return sent;
  }

  async #insert(group: NewRun[], tx?: unknown): Promise<InsertResult[]> {
    const store = await this.#parts.openStore();
    const inserted = await store.insert(group, tx);
    this.#parts.sent(group, inserted);
    return inserted;
  }

  #toRun(run: NewRun, { id, inserted }: InsertResult): Run {
    return new Run(id, run.name, inserted, this.#parts.control);
  }

  #sendPending(): void {
    const dispatches = this.#pending;
    if (dispatches.length === 0) return;
    this.#pending = [];
    for (const dispatch of dispatches) dispatch.leave();
    this.#track(this.#send(dispatches));
  }

  #track(sending: Promise<void>): void {
    this.#underway.add(sending);
    void sending.finally(() => this.#underway.delete(sending));
  }

  /** Never rejects: each dispatch hears of its own fate. */
  async #send(dispatches: Dispatch<never>[], tx?: unknown): Promise<void> {
    const prepare = async (dispatch: Dispatch<never>) => {
      try {
        return { dispatch, run: await this.#parts.prepare(dispatch, tx !== undefined) };
      } catch (error) {
        dispatch.reject(error);
        return null;
      }
    };
    const ready = (await Promise.all(dispatches.map(prepare))).filter((one) => one !== null);
    // Whoever holds a key in an open transaction keeps those waiting that ask for it, but not all the others.
    const keyed = ready.filter(({ run }) => run.unique !== null);
    const free = ready.filter(({ run }) => run.unique === null);
    await Promise.all([this.#insertInGroups(free, tx), this.#insertInGroups(keyed, tx)]);
  }

  async #insertInGroups(ready: Ready[], tx?: unknown): Promise<void> {
    const groups = new Groups<Ready>(({ run }) => run);
    for (const one of ready) {
      const full = groups.add(one);
      if (full) await this.#insertAll(full, tx);
    }
    await this.#insertAll(groups.rest(), tx);
  }

  /** Inserts a group, and settles its dispatches. If the database refuses one row, only the dispatch of that row fails. */
  async #insertAll(ready: Ready[], tx?: unknown): Promise<void> {
    if (ready.length === 0) return;
    await bisect(ready, {
      send: async (part) => {
        const rows = part.map(({ run }) => run);
        const inserted = await this.#insert(rows, tx);
        for (const [index, { dispatch, run }] of part.entries())
          dispatch.resolve(this.#toRun(run, inserted[index]!));
      },
      // Within the caller's transaction nothing can be inserted after a refusal.
      divides: (error) => tx === undefined && isRefusal(error),
      refused: (part, error) => {
        for (const { dispatch } of part) dispatch.reject(error);
      },
    });
  }
}

interface Ready {
  dispatch: Dispatch<never>;
  run: NewRun;
}

/** Gathers rows until a statement is full. */
class Groups<Item = NewRun> {
  readonly #runOf: (item: Item) => NewRun;
  #group: Item[] = [];
  #bytes = 0;

  constructor(runOf: (item: Item) => NewRun = (item) => item as unknown as NewRun) {
    this.#runOf = runOf;
  }

  /** Gives a group when this one does not fit any more. */
  add(item: Item): Item[] | null {
    const size = this.#runOf(item).args?.length ?? 0;
    const isFull =
      this.#group.length >= GROUP_ROWS || (this.#group.length > 0 && this.#bytes + size > GROUP_BYTES);
    const full = isFull ? this.rest() : null;
    this.#group.push(item);
    this.#bytes += size;
    return full;
  }

  rest(): Item[] {
    const group = this.#group;
    this.#group = [];
    this.#bytes = 0;
    return group;
  }
}
