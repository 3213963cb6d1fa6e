import type { Style } from "../../../src/cli/output/output.ts";
import { iconsFor } from "../../../src/cli/render/icons.ts";
import type { Page } from "../../../src/cli/render/page.ts";

/** A page of a given width, in UTC. With `marks`, painted text is in angle brackets. */
export function pageOf(width: number | null, options: { marks?: boolean; letters?: boolean } = {}): Page {
  return {
    width,
    proseWidth: width ?? 80,
    zone: "UTC",
    icons: iconsFor({ LANG: options.letters ? "C" : "C.UTF-8" }, "linux"),
    paint: (style: Style, text) => (options.marks ? `<${style} ${text}>` : text),
  };
}
