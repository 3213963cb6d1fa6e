import { describe, expect, test } from "vitest";
import { type Column, table } from "../../src/cli/render/table.ts";
import { cut, pad, widthOf } from "../../src/cli/render/width.ts";
import { pageOf } from "./support/page.ts";

describe("width", () => {
  test.each([
    ["abc", 3],
    ["naïve", 5],
    ["e\u0301te\u0301", 3],
    ["日本語", 6],
    ["한국", 4],
    ["👍", 2],
    ["👨‍👩‍👧‍👦", 2],
    ["🇩🇪", 2],
    ["❤️", 2],
    ["1️⃣", 2],
    ["✓ ✕ ● ◐ – …", 11],
    ["\u200b", 0],
    ["", 0],
  ])("%j takes %i columns", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  test("a cut text fits, and no character is split", () => {
    expect(cut("nightly-export", 8)).toBe("nightly…");
    expect(cut("nightly-export", 14)).toBe("nightly-export");
    expect(cut("日本語", 4)).toBe("日…");
    expect(cut("日本語", 5)).toBe("日本…");
    expect(cut("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 3)).toBe("👨‍👩‍👧‍👦…");
    expect(cut("a bc", 3)).toBe("a…");
    expect(cut("abcdef", 4, "...")).toBe("a...");
    expect(cut("abcdef", 2, "...")).toBe("..");
    expect(cut("abcdef", 0)).toBe("");
  });

  test("padding counts columns, not characters", () => {
    expect(pad("日本", 6)).toBe("日本  ");
    expect(pad("日本", 6, "right")).toBe("  日本");
    expect(pad("longer", 3)).toBe("longer");
  });
});

interface Row {
  name: string;
  queue: string;
  fails: number;
  error: string;
}

const columns: Column<Row>[] = [
  { title: "Name", cell: ({ name }) => name, min: 6 },
  { title: "Queue", cell: ({ queue }) => queue, drop: 1 },
  { title: "Fails", cell: ({ fails }) => ({ text: String(fails), style: "red" }), align: "right", drop: 2 },
  { title: "Error", cell: ({ error }) => error, min: 8 },
];
const rows: Row[] = [
  { name: "send-invoice", queue: "emails", fails: 12, error: "connect ETIMEDOUT 10.0.0.1" },
  { name: "日本語", queue: "default", fails: 0, error: "" },
];

describe("table", () => {
  test("without a terminal nothing is cut, and no line ends in spaces", () => {
    expect(table(columns, rows, pageOf(null))).toEqual([
      "Name          Queue    Fails  Error",
      "send-invoice  emails      12  connect ETIMEDOUT 10.0.0.1",
      "日本語        default      0",
    ]);
  });

  test("columns are dropped in their order, then cells are cut", () => {
    expect(table(columns, rows, pageOf(40))).toEqual([
      "Name          Queue    Fails  Error",
      "send-invoice  emails      12  connect E…",
      "日本語        default      0",
    ]);
    expect(table(columns, rows, pageOf(28))).toEqual([
      "Name         Fails  Error",
      "send-invoi…     12  connect…",
      "日本語           0",
    ]);
    expect(table(columns, rows, pageOf(16))).toEqual(["Name    Error", "send-…  connect…", "日本語"]);
  });

  test.each([1, 5, 9, 17, 25, 39, 80])("no line is wider than %i columns", (width) => {
    for (const line of table(columns, rows, pageOf(width))) expect(widthOf(line)).toBeLessThanOrEqual(width);
  });

  test("control characters are removed, and a text stays on its line", () => {
    const bad = { name: "\x1b[2Jx\x07", queue: "a\nb\tc", fails: 0, error: "\u202egnp.exe\x9b31m" };
    const text = table(columns, [bad], pageOf(null)).join("\n");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(text.split("\n")).toHaveLength(2);
    expect(text).toContain("a b c");
  });

  test("colours do not count as width, and spaces are not painted", () => {
    const [, line] = table(columns, rows, pageOf(null, { marks: true }));
    expect(line).toBe("send-invoice  emails      <red 12>  connect ETIMEDOUT 10.0.0.1");
  });
});
