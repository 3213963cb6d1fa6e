import { formatValue, PunctualError } from "../errors.ts";
import { type LaneWeight, Rotation } from "../run/rotation.ts";
import type { QueueOrder } from "../store/definitions.ts";
import type { Rate } from "../store/rate.ts";
import { type Duration, MINUTE, toMilliseconds } from "../time.ts";
import { checkKeys, type OptionNames } from "../validate/options.ts";
import { checkRate, type RateOptions } from "./rates.ts";
import { checkConcurrency } from "./settings.ts";

/** Options of `queue()` that decide in which order its runs start. */
export interface OrderOptions {
  /**
   * Whether the lanes of the queue take turns: each job, or each job and key. Default: false; runs start by priority
   * and due time.
   */
  fair?: boolean | undefined;
  /**
   * How many runs of a lane start in each turn, by key: `{ gold: 3 }`, or a function of the key (empty without a key)
   * and the name of the job. Whole numbers from 1 to 1000. Default: 1. Only with `fair`.
   */
  weight?: Readonly<Record<string, number>> | LaneWeight | undefined;
  /**
   * Longest that a run should wait behind more important runs of the queue; at least 1 min. About once a minute a
   * worker raises the priority of runs that have waited longer. Default: null, no limit.
   */
  patience?: Duration | null | undefined;
}

/** Options of `queue()`. */
export interface QueueSettings extends OrderOptions {
  /** Most runs of the queue at once, over all workers; 0: no limit. */
  concurrency?: number | undefined;
  /** How many runs of the queue may start within a time, over all workers; null: no limit. */
  rate?: RateOptions | null | undefined;
}

const SETTINGS: OptionNames<QueueSettings> = {
  concurrency: true,
  rate: true,
  fair: true,
  weight: true,
  patience: true,
};

/** How many runs of a queue may run at once (0: no limit), and how many may start within a time. */
export interface QueueLimit {
  limit: number;
  rate: Rate | null;
}

const MOST_WEIGHT = 1000;

/** Workers look once a minute for runs that have waited too long: a shorter patience could not be kept. */
const LEAST_PATIENCE = MINUTE;

/** The order of a queue as another process has to know it: a function cannot be described. */
export interface DescribedOrder extends QueueOrder {
  weights: Record<string, number> | null;
}

interface KnownOrder extends DescribedOrder {
  /** Null: weights by key, or none. */
  weigh: LaneWeight | null;
}

/** The orders of an instance's queues. */
export class QueueOrders {
  readonly #orders = new Map<string, KnownOrder>();
  /** The fair queues, and how much their lanes weigh; null: 1 each. */
  readonly fair: Map<string, LaneWeight | null> = new Map<string, LaneWeight | null>();
  readonly #rotation: Rotation;
  readonly #report: (error: unknown, queue: string) => void;

  /** `report` is called once for each queue whose function fails. */
  constructor(report: (error: unknown, queue: string) => void, random: () => number) {
    this.#report = report;
    this.#rotation = new Rotation(this.fair, random);
  }

  /**
   * The order of lanes for all claims of this instance: one pass of `run()` continues where the last one ended. Null:
   * no queue is fair.
   */
  get rotation(): Rotation | null {
    return this.fair.size > 0 ? this.#rotation : null;
  }

  has(queue: string): boolean {
    return this.#orders.has(queue);
  }

  /** The longest that runs of queues with patience wait, in milliseconds. */
  get patient(): { queue: string; patience: number }[] {
    return this.list().flatMap(({ name, patience }) =>
      patience === null ? [] : [{ queue: name, patience }],
    );
  }

  /** Sets the options that are given. Others stay as they were. */
  set(queue: string, options: OrderOptions): void {
    const known = this.#orders.get(queue);
    const order: KnownOrder = {
      name: queue,
      fair: options.fair ?? known?.fair ?? false,
      patience: options.patience === undefined ? (known?.patience ?? null) : toPatience(options.patience),
      weights: known?.weights ?? null,
      weigh: known?.weigh ?? null,
    };
    if (typeof options.weight === "function") Object.assign(order, { weigh: options.weight, weights: null });
    else if (options.weight) Object.assign(order, { weigh: null, weights: { ...options.weight } });
    if (!order.fair) Object.assign(order, { weigh: null, weights: null });
    this.#put(order);
  }

  /** Takes over the orders of queues that have none here. */
  take(other: QueueOrders): void {
    for (const order of other.#orders.values()) if (!this.#orders.has(order.name)) this.#put(order);
  }

  /** Replaces all orders by described ones. `own`: has the functions that this process knows. */
  replaceAll(orders: DescribedOrder[], own: QueueOrders): void {
    this.#orders.clear();
    this.fair.clear();
    for (const order of orders) {
      this.#put({
        ...order,
        weigh: order.weights === null ? (own.#orders.get(order.name)?.weigh ?? null) : null,
      });
    }
  }

  list(): QueueOrder[] {
    return [...this.#orders.values()].map(({ name, fair, patience }) => ({ name, fair, patience }));
  }

  describe(): DescribedOrder[] {
    return [...this.#orders.values()].map(({ name, fair, patience, weights }) => ({
      name,
      fair,
      patience,
      weights,
    }));
  }

  #put(order: KnownOrder): void {
    this.#orders.set(order.name, order);
    if (order.fair) this.fair.set(order.name, this.#weightOf(order));
    else this.fair.delete(order.name);
  }

  #weightOf({ name, weights, weigh }: KnownOrder): LaneWeight | null {
    if (weights) return (key) => (Object.hasOwn(weights, key) ? weights[key]! : 1);
    if (!weigh) return null;
    let isReported = false;
    return (key, job) => {
      try {
        return checkWeight(weigh(key, job), `the weight of the key ${formatValue(key)} in queue "${name}"`);
      } catch (error) {
        // A claim must not fail because of one key.
        if (!isReported) this.#report(error, name);
        isReported = true;
        return 1;
      }
    };
  }
}

/** Checks the options of `queue()`, at least one. `isFair`: whether the queue is fair already. */
export function checkQueueSettings(
  options: QueueSettings,
  isFair: boolean,
  what = "queue()",
): { limit: Partial<QueueLimit> | null; order: OrderOptions | null } {
  checkKeys(options, SETTINGS, what);
  const { concurrency, rate } = options;
  const order = checkOrder(options, isFair);
  if (concurrency === undefined && rate === undefined && order === null) {
    throw refusal(`${what} expected at least one of ${Object.keys(SETTINGS).join(", ")}, got none.`);
  }
  if (concurrency === undefined && rate === undefined) return { limit: null, order };
  const limit = {
    ...(concurrency !== undefined && { limit: checkConcurrency(concurrency) }),
    ...(rate !== undefined && { rate: rate && checkRate(rate, "rate of queue()") }),
  };
  return { limit, order };
}

/** Returns null if no option was given. */
function checkOrder(options: OrderOptions, isFair: boolean): OrderOptions | null {
  const { fair, weight, patience } = options;
  if (fair !== undefined && typeof fair !== "boolean") {
    throw refusal(`Expected fair of queue() as true or false, got ${formatValue(fair)}.`);
  }
  if (weight !== undefined) {
    if (!(fair ?? isFair)) {
      throw refusal(
        "weight of queue() needs fair: true. To share a worker between queues, use weights of run() or forever().",
      );
    }
    checkWeights(weight);
  }
  if (patience !== undefined) toPatience(patience);
  return fair === undefined && weight === undefined && patience === undefined ? null : options;
}

function checkWeights(weight: unknown): void {
  if (typeof weight === "function") return;
  if (typeof weight !== "object" || weight === null || Array.isArray(weight)) {
    throw refusal(
      `Expected weight of queue() by key, such as { gold: 3 }, or a function of the key, got ${formatValue(weight)}. To share a worker between queues, use weights of run() or forever().`,
    );
  }
  for (const [key, value] of Object.entries(weight)) {
    checkWeight(value, `the weight of the key ${formatValue(key)}`);
  }
}

function checkWeight(value: unknown, what: string): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_WEIGHT) {
    return value as number;
  }
  throw refusal(`Expected ${what} as a whole number from 1 to ${MOST_WEIGHT}, got ${formatValue(value)}.`);
}

function toPatience(patience: Duration | null): number | null {
  if (patience === null) return null;
  const ms = toMilliseconds(patience, "patience of queue()");
  if (ms >= LEAST_PATIENCE) return ms;
  throw refusal(
    `Expected patience of queue() to be at least 1 min, or null for none, got ${formatValue(patience)}.`,
  );
}

function refusal(message: string): PunctualError {
  return new PunctualError("INVALID_OPTION", message);
}
