import type { AdHoc } from "../job/adhoc.ts";
import type { Definition } from "../job/definition.ts";
import { type Description, toDefinitions, toMethod } from "../job/description.ts";
import { type DescribedOrder, type QueueLimit, QueueOrders } from "../job/queue-orders.ts";
import { Registry } from "../job/registry.ts";
import type { Settings } from "../job/settings.ts";

/** Definitions of the supervisor's own process. */
interface OwnJobs {
  registry: Registry;
  queueOrders: QueueOrders;
  random(): number;
}

/**
 * The jobs that the children have described, and the ad hoc functions of this process, which the parent runs itself.
 */
export class ChildJobs extends Registry {
  readonly queueLimits: Map<string, QueueLimit> = new Map<string, QueueLimit>();
  readonly namedLimits: Map<string, QueueLimit> = new Map<string, QueueLimit>();
  readonly queueOrders: QueueOrders;
  readonly #orders = new Map<string, DescribedOrder>();
  readonly #own: Registry;
  readonly #ownOrders: QueueOrders;
  readonly #defaults: Settings;
  readonly #changed: () => void;
  /** Names of the methods of the children's classes that can become jobs, with the description that lists each. */
  readonly #methods = new Map<string, Description>();

  /** `changed` is called when a method becomes a job because its name was looked up. */
  constructor({ registry, queueOrders, random }: OwnJobs, defaults: Settings, changed: () => void) {
    super();
    this.#own = registry;
    this.#ownOrders = queueOrders;
    // The functions of the parent's own orders report their errors.
    this.queueOrders = new QueueOrders(() => {}, random);
    this.#defaults = defaults;
    this.#changed = changed;
  }

  /** Adds the jobs of a child. `isNewer`: they replace all that were described before. */
  describe(description: Description, isNewer: boolean): void {
    const described = toDefinitions(description, this.#defaults);
    const names = new Set(described.map(({ name }) => name));
    const others = isNewer ? [] : [...this.definitions()].filter(({ name }) => !names.has(name));
    this.replaceAll([...others, ...described]);
    if (isNewer) {
      this.queueLimits.clear();
      this.namedLimits.clear();
      this.#orders.clear();
      this.#methods.clear();
    }
    for (const name of description.methods.names) this.#methods.set(name, description);
    for (const [queue, limit] of description.queues) this.queueLimits.set(queue, limit);
    for (const [name, limit] of description.limits) this.namedLimits.set(name, limit);
    for (const order of description.orders) this.#orders.set(order.name, order);
    this.queueOrders.replaceAll([...this.#orders.values()], this.#ownOrders);
  }

  override definition(name: string): Definition<never> | undefined {
    return super.definition(name) ?? this.#method(name);
  }

  #method(name: string): Definition<never> | undefined {
    const description = this.#methods.get(name);
    if (!description) return undefined;
    const definition = toMethod(name, description, this.#defaults);
    this.define(definition);
    this.#changed();
    return definition;
  }

  override adHocs(): IterableIterator<AdHoc> {
    return this.#own.adHocs();
  }

  override adHoc(lane: string): AdHoc | undefined {
    return this.#own.adHoc(lane);
  }

  override forgetAdHoc(lane: string): void {
    this.#own.forgetAdHoc(lane);
  }

  override hasAdHoc(): boolean {
    return this.#own.hasAdHoc();
  }
}
