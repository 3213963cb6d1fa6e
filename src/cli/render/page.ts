import { zoneOf } from "../../schedule/zones.ts";
import type { Cli } from "../cli.ts";
import type { Globals } from "../input/options.ts";
import type { Style } from "../output/output.ts";
import { type Icons, iconsFor } from "./icons.ts";

/** The page that views render on: width, colours, icons, zone and time. */
export interface Page {
  /** Columns to fill; null: nothing is cut. */
  readonly width: number | null;
  /** Times are told in this zone. */
  readonly zone: string;
  readonly icons: Icons;
  paint(style: Style, text: string): string;
}

/** The standard output of a command. */
export function pageOf({ output, globals }: Pick<Cli, "output" | "globals">): Page {
  return {
    get width() {
      return output.width;
    },
    zone: zoneFor(globals),
    icons: iconsFor(),
    paint: (style, text) => output.paint(style, text),
  };
}

/** The zone that times are told in: `--utc`, `--timezone`, else the machine's. */
export function zoneFor({ utc, timezone }: Pick<Globals, "utc" | "timezone">): string {
  if (utc) return "UTC";
  if (timezone === undefined) return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  zoneOf(timezone);
  return timezone;
}
