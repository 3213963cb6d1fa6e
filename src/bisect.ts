export interface Bisection<Item> {
  /** Sends the items in one call. */
  send(items: Item[]): Promise<void>;
  /** Whether the error may concern some of the items only, so that halves are worth sending. */
  divides(error: unknown): boolean;
  /** Called with a single refused item, or with items that `divides` keeps together. */
  refused(items: Item[], error: unknown): void | Promise<void>;
}

/**
 * Sends items together. If the call is refused, sends its halves, one after the other, until the refused item is
 * alone.
 */
export async function bisect<Item>(items: Item[], how: Bisection<Item>): Promise<void> {
  try {
    await how.send(items);
  } catch (error) {
    if (items.length <= 1 || !how.divides(error)) return how.refused(items, error);
    const half = Math.ceil(items.length / 2);
    await bisect(items.slice(0, half), how);
    await bisect(items.slice(half), how);
  }
}
