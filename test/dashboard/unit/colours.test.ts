import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const css = readFileSync(new URL("../../../dashboard/src/styles/theme.css", import.meta.url), "utf8");
const colours = new Map(
  [...css.matchAll(/--([\w-]+): (?:var\([\w-]+, )?light-dark\((#\w+), (#\w+)\)/g)].map(
    ([, name, light, dark]) => [name!, { light: light!, dark: dark! }],
  ),
);

/** Relative luminance of a colour (WCAG 2.2). */
function luminance(colour: string): number {
  const digits =
    colour.length === 4 ? [...colour.slice(1)].map((digit) => digit + digit).join("") : colour.slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const part = Number.parseInt(digits.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

const TEXTS = [
  "text",
  "muted",
  "accent",
  "scheduled",
  "ready",
  "running",
  "retrying",
  "completed",
  "failed",
].concat(["cancelled", "skipped", "late", "paused"]);
const GROUNDS = ["panel", "hover", "raised", "page"];

describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
  test.each(TEXTS)("%s can be read on every ground", (name) => {
    for (const ground of GROUNDS)
      expect(contrast(colours.get(name)![theme], colours.get(ground)![theme]), ground).toBeGreaterThanOrEqual(
        4.5,
      );
  });

  test("text on the accent can be read", () => {
    expect(contrast(colours.get("on-accent")![theme], colours.get("accent")![theme])).toBeGreaterThanOrEqual(
      4.5,
    );
  });
});
