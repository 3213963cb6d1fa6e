import type { RunShape } from "../dispatch/dispatch.ts";
import { Dispatch, type DispatchSender } from "../dispatch/dispatch.ts";
import { Configurable } from "./configurable.ts";
import { deriveMethods, methodsOf } from "./derived-methods.ts";
import type { Handler } from "./handlers.ts";
import type { StandardSchema } from "./schema.ts";
import type { Settings } from "./settings.ts";

/** A function that was dispatched. The process that dispatched it keeps it in memory until its run ends. */
export interface AdHoc {
  name: string;
  lane: string;
  handler: Handler<unknown>;
  schema: StandardSchema | null;
  settings: Settings;
  /** Whether the handler is that of the job of this name. */
  borrowed: boolean;
}

/** The settings of a job that other dispatches do not have. Each returns the dispatch. */
type SettingMethods<Self> = {
  [Name in Exclude<keyof Configurable<unknown>, keyof Dispatch | "settings">]: (
    ...args: Parameters<Configurable<unknown>[Name]>
  ) => Self;
};

// deriveMethods() adds the methods of this type below the class.
export interface AdHocDispatch<Result = unknown> extends SettingMethods<AdHocDispatch<Result>> {}

/** A dispatch of a function. It also has the settings of a job, because a function has no definition to set them on. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: deriveMethods() adds the methods.
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
    // Retries too: this process keeps the policy in memory, so it may contain functions, which a row cannot store.
    const isOwn = (name: string) =>
      !(name in Dispatch.prototype) || name === "retries" || name === "attempts";
    const settings = methodsOf(Configurable<unknown>).filter(([name]) => isOwn(name));
    deriveMethods(AdHocDispatch, settings, (_, set) => {
      return function (this: AdHocDispatch, ...args) {
        // As the other methods of a dispatch: throws once the dispatch was sent; an invalid value withdraws it.
        return this.with(() => {
          set.apply(this as never, args);
          return {};
        });
      };
    });
  }
}
