import { Dispatch, type Sending } from "../run/dispatch.ts";
import type { Shape } from "../run/shape.ts";
import { Configurable, lendMethods } from "./configurable.ts";
import type { Handler } from "./handlers.ts";
import type { Settings } from "./settings.ts";

/** The one run of a function that was dispatched itself: what its owner keeps in memory. */
export interface AdHoc {
  name: string;
  lane: string;
  handler: Handler<unknown>;
  settings: Settings;
}

// Every merged method is put on the prototype below the class.
export interface AdHocDispatch extends Omit<Configurable<unknown>, keyof Dispatch> {}

/** A dispatch of a function: takes every configuration method of a job besides those that shape the run. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the methods are lent to the prototype.
export class AdHocDispatch extends Dispatch<unknown> {
  readonly #settings: Settings;

  constructor(adHoc: AdHoc, shape: Shape, parentId: number | null, sending: Sending) {
    super(adHoc, shape, parentId, sending);
    this.#settings = adHoc.settings;
  }

  /** Every configuration method goes through here: refused once the dispatch was sent, as every other chained call. */
  get settings(): Settings {
    this.with({});
    return this.#settings;
  }
}

lendMethods(Configurable.prototype, AdHocDispatch.prototype);
