import { zoneOf } from "../../schedule/zones.ts";
import type { Cli } from "../cli.ts";
import type { Globals } from "../input/options.ts";
import type { Style } from "../output/output.ts";
import { type Icons, iconsFor } from "./icons.ts";

/** The page that views render on: width, colours, icons and time zone. */
export interface Page {
  /** Width in columns; null: nothing is cut. */
  readonly width: number | null;
  /** Width at which sentences wrap, also where nothing is cut. */
  readonly proseWidth: number;
  /** Time zone of printed times. */
  readonly zone: string;
  readonly icons: Icons;
  paint(style: Style, text: string): string;
}

/** Returns the page for the standard output of a command. */
export function pageOf({ output, globals }: Pick<Cli, "output" | "globals">): Page {
  return {
    get width() {
      return output.width;
    },
    get proseWidth() {
      return output.proseWidth;
    },
    zone: zoneFor(globals),
    icons: iconsFor(),
    paint: (style, text) => output.paint(style, text),
  };
}

/** Returns the time zone of printed times: `--utc`, `--timezone`, otherwise the machine's. */
export function zoneFor({ utc, timezone }: Pick<Globals, "utc" | "timezone">): string {
  if (utc) return "UTC";
  if (timezone === undefined) return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  zoneOf(timezone);
  return timezone;
}
