import { plain } from "../output/output.ts";
import type { Page } from "./page.ts";
import { cut, widthOf } from "./width.ts";

/** Width of a line when the output is not a terminal. */
const ASSUMED_WIDTH = 100;
const FEWEST_DOTS = 3;

/** `left ........ right`, as wide as the page; if there is no room, `left` is cut. */
export function leaderLine(left: string, right: string, page: Page): string {
  const end = plain(right);
  const width = page.width ?? ASSUMED_WIDTH;
  const room = width - widthOf(end) - FEWEST_DOTS - 2;
  const start = page.width === null ? plain(left) : cut(plain(left), Math.max(0, room), page.icons.ellipsis);
  const dots = Math.max(FEWEST_DOTS, width - widthOf(start) - widthOf(end) - 2);
  const line = `${start} ${page.paint("dim", ".".repeat(dots))} `;
  return (
    line +
    (page.width === null
      ? end
      : cut(end, Math.max(0, width - widthOf(start) - dots - 2), page.icons.ellipsis))
  );
}
