import { expect, test } from "vitest";
import { logLines } from "../../src/cli/commands/show/logs.ts";
import { iconsFor } from "../../src/cli/render/icons.ts";
import { widthOf } from "../../src/cli/render/width.ts";
import type { LogLine } from "../../src/index.ts";

const now = Date.UTC(2026, 10, 15, 15, 2, 11);
const page = (width: number | null) => ({
  width,
  proseWidth: width ?? 80,
  zone: "UTC",
  icons: iconsFor({ LC_ALL: "C.UTF-8" }),
  paint: (_: unknown, text: string) => text,
});
const line = (fields: Partial<LogLine>): LogLine => ({
  position: 1,
  attempt: 2,
  at: new Date(now + 7),
  message: "said",
  data: undefined,
  ...fields,
});
const shown = (fields: Partial<LogLine>, width: number | null, options = {}) =>
  logLines(line(fields), { raw: false, attempts: false, now, ...options }, page(width));

test("a line has the time only today; the date on other days and without a terminal", () => {
  expect(shown({}, 80)).toEqual(["15:02:11.007  said"]);
  expect(shown({}, 80, { attempts: true })).toEqual(["15:02:11.007  #2  said"]);
  expect(shown({ at: new Date(now - 86_400_000) }, 80)).toEqual(["2026-11-14 15:02:11.000  said"]);
  expect(shown({}, null)).toEqual(["2026-11-15 15:02:11.007  said"]);
});

test("long messages wrap, data without room is cut, and no line is wider than the terminal", () => {
  const words = "one two three four five six seven eight nine ten";
  const data = { list: Array.from({ length: 50 }, (_, n) => n) };
  expect(shown({ message: words, data }, 44)).toEqual([
    "15:02:11.007  one two three four five six",
    "              seven eight nine ten",
    '              {"list":[0,1,2,3,4,5,6,7,8,9,…',
  ]);
  for (const width of [40, 60, 100])
    for (const text of shown({ message: words, data }, width))
      expect(widthOf(text)).toBeLessThanOrEqual(width);
  expect(shown({ message: words, data }, 44, { raw: true }).at(-1)).toContain("48,49]}");
  expect(shown({ message: words, data }, null)).toHaveLength(1);
});

test("a message may have several lines, or be empty", () => {
  expect(shown({ message: "a\nb", data: { n: 1 } }, 80)).toEqual([
    "15:02:11.007  a",
    '              b  {"n":1}',
  ]);
  expect(shown({ message: "a\nb" }, null)).toEqual(["2026-11-15 15:02:11.007  a b"]);
  expect(shown({ message: "", data: null }, 80)).toEqual(["15:02:11.007  null"]);
});
