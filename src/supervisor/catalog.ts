import type { AdHoc } from "../job/adhoc.ts";
import { type Description, toDefinitions } from "../job/description.ts";
import { Registry } from "../job/registry.ts";
import type { Settings } from "../job/settings.ts";

/** The jobs as the children have described them, and the functions of this process, which it runs itself. */
export class Catalog extends Registry {
  readonly queueLimits: Map<string, number> = new Map<string, number>();
  readonly #own: Registry;
  readonly #defaults: Settings;

  constructor(own: Registry, defaults: Settings) {
    super();
    this.#own = own;
    this.#defaults = defaults;
  }

  /** In place of what was described before, or besides. */
  describe(description: Description, isNewer: boolean): void {
    const described = toDefinitions(description, this.#defaults);
    const names = new Set(described.map(({ name }) => name));
    const others = isNewer ? [] : [...this.definitions()].filter(({ name }) => !names.has(name));
    this.replaceAll([...others, ...described]);
    if (isNewer) this.queueLimits.clear();
    for (const [queue, limit] of description.queues) this.queueLimits.set(queue, limit);
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
