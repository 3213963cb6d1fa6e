import { brand } from "../errors.ts";
import { EncodedArgs } from "../run/payload.ts";
import type { Definition } from "./definition.ts";
import type { Settings } from "./settings.ts";

/** The definition as it was at the `dispatch()` call. Later changes do not reach the run. */
export class Capture {
  readonly definition: Definition<unknown>;
  readonly settings: Settings;
  readonly timezone: string | null;
  /** The definition's own arguments: used when the dispatch gives none. */
  readonly args: EncodedArgs;

  constructor(definition: Definition<unknown>, maxPayload: number) {
    this.definition = definition;
    this.settings = definition.settings;
    this.timezone = definition.plan.timezone;
    this.args = EncodedArgs.of(definition.settings.args, maxPayload);
  }
}

brand(Capture, "Capture");
