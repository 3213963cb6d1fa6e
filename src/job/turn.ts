/**
 * One synchronous stretch of the program. It ends before anything that was awaited in it continues: its microtask is
 * queued first, and microtasks run in order.
 */
export class Turn {
  static #current: Turn | null = null;
  #isOver = false;

  static current(): Turn {
    if (Turn.#current === null) {
      const turn = new Turn();
      Turn.#current = turn;
      // Not queueMicrotask(), which fake timers of test runners replace.
      void Promise.resolve().then(() => {
        turn.#isOver = true;
        Turn.#current = null;
      });
    }
    return Turn.#current;
  }

  get isOver(): boolean {
    return this.#isOver;
  }
}
