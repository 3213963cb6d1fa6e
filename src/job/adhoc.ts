import type { RunShape } from "../dispatch/dispatch.ts";
import { Dispatch, type DispatchSender } from "../dispatch/dispatch.ts";
import { Configurable } from "./configurable.ts";
import type { Handler } from "./handlers.ts";
import type { StandardSchema } from "./schema.ts";
import type { Settings } from "./settings.ts";

/** The one run of a function that was dispatched itself: what its owner keeps in memory. */
export interface AdHoc {
  name: string;
  lane: string;
  handler: Handler<unknown>;
  schema: StandardSchema | null;
  settings: Settings;
  /** It is the handler of the job of this name. */
  borrowed: boolean;
}

/** The configuration methods of a job that a dispatch has not, each giving back the dispatch. */
type Configuring<Self> = {
  [Name in Exclude<keyof Configurable<unknown>, keyof Dispatch | "settings">]: (
    ...args: Parameters<Configurable<unknown>[Name]>
  ) => Self;
};

// Every merged method is put on the prototype by the class.
export interface AdHocDispatch<Result = unknown> extends Configuring<AdHocDispatch<Result>> {}

/** A dispatch of a function: takes every configuration method of a job besides those that shape the run. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the methods are lent to the prototype.
export class AdHocDispatch<Result = unknown> extends Dispatch<unknown, Result> {
  readonly #adHoc: AdHoc;

  constructor(adHoc: AdHoc, shape: RunShape, parentId: number | null, sender: DispatchSender) {
    super(adHoc, shape, parentId, sender);
    this.#adHoc = adHoc;
  }

  get settings(): Settings {
    return this.#adHoc.settings;
  }

  set settings(settings: Settings) {
    this.#adHoc.settings = settings;
  }

  static {
    const configurable = Configurable.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const name of Object.getOwnPropertyNames(configurable)) {
      // Its process keeps the settings, so that retries may have functions, which a run's row cannot hold.
      if (name in AdHocDispatch.prototype && name !== "retries" && name !== "attempts") continue;
      // As every chained call: refused once the dispatch was sent, and a refused one takes the dispatch back.
      const value = function (this: AdHocDispatch, ...args: unknown[]) {
        return this.with(() => {
          configurable[name]!.apply(this, args);
          return {};
        });
      };
      Object.defineProperty(AdHocDispatch.prototype, name, { value });
    }
  }
}
