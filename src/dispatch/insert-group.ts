import type { NewRun } from "../store/store.ts";

/** Most rows of one insert statement, and about how many bytes of arguments it has at most. */
const MOST_ROWS = 5000;
const MOST_BYTES = 4 * 1024 * 1024;

/** Collects rows until an insert statement is full. */
export class InsertGroup<Item = NewRun> {
  readonly #runOf: (item: Item) => NewRun;
  #items: Item[] = [];
  #bytes = 0;

  constructor(runOf: (item: Item) => NewRun = (item) => item as unknown as NewRun) {
    this.#runOf = runOf;
  }

  /** Adds an item. If it does not fit, returns the items so far, and the item begins a new group. */
  add(item: Item): Item[] | null {
    const size = this.#runOf(item).args?.length ?? 0;
    const isFull =
      this.#items.length >= MOST_ROWS || (this.#items.length > 0 && this.#bytes + size > MOST_BYTES);
    const full = isFull ? this.take() : null;
    this.#items.push(item);
    this.#bytes += size;
    return full;
  }

  /** Returns all items and empties the group. */
  take(): Item[] {
    const items = this.#items;
    this.#items = [];
    this.#bytes = 0;
    return items;
  }
}
