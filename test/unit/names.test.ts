import { describe, expect, test } from "vitest";
import { checkName, closeNames } from "../../src/validate/names.ts";

describe("names", () => {
  test.each([
    "a",
    "emails.send",
    "a b/c:d|e",
    "'; drop table runs; --",
    "日本語のジョブ",
    "🎉",
    "__proto__",
    "a".repeat(191),
    "é".repeat(95),
  ])("%j is a name", (name) => {
    expect(checkName(name, "a job name")).toBe(name);
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, "Expected a job name as text, got undefined."],
    ["a number", 5, "Expected a job name as text, got 5."],
    ["an object", { a: 1 }, 'Expected a job name as text, got {"a":1}.'],
    ["an empty text", "", "Expected a job name of at least one character, got an empty text."],
    ["NUL", "a\0b", 'Expected a job name without NUL characters, got "a\\u0000b".'],
    ["a lone surrogate", "a\ud800", "Expected a job name of well-formed Unicode, got half a character in"],
    ["192 bytes", "a".repeat(192), "Expected a job name of at most 191 bytes, got 192 bytes:"],
    ["96 characters of two bytes", "é".repeat(96), "got 192 bytes:"],
  ])("%s is refused", (_, name, message) => {
    expect(() => checkName(name, "a job name")).toThrow(
      expect.objectContaining({ code: "INVALID_NAME", message: expect.stringContaining(message) }),
    );
  });

  test("the message says which name is meant", () => {
    expect(() => checkName("", "a queue name")).toThrow("Expected a queue name of at least");
  });
});

describe("close names", () => {
  const known = ["emails.send", "emails.welcome", "reports.daily", "reports.weekly", "import", "Cleanup"];

  test.each<[string, string[]]>([
    ["emails.sned", ["emails.send", "emails.welcome"]],
    ["email.send", ["emails.send"]],
    ["EMAILS.SEND", ["emails.send", "emails.welcome"]],
    ["cleanup", ["Cleanup"]],
    ["imports", ["import"]],
    ["improt", ["import"]],
    ["emails", ["emails.send", "emails.welcome"]],
    ["import.files", ["import"]],
    ["reports.dayly", ["reports.daily", "reports.weekly"]],
    ["billing.charge", []],
    ["x", []],
    ["", []],
  ])("to %j", (name, expected) => {
    expect(closeNames(name, known)).toEqual(expected);
  });

  test("are the best first, three at most, each once, never the name itself", () => {
    const names = ["jobs.aaa", "job.aa", "job.aaa", "job.aab", "job.abb", "job.aab", "job.aaaa"];
    expect(closeNames("job.aaa", new Set(names))).toEqual(["job.aa", "job.aaaa", "job.aab"]);
    expect(closeNames("job.aaa", [...names, ...names])).toEqual(["job.aa", "job.aaaa", "job.aab"]);
  });

  test("count edits as the textbook algorithm does", () => {
    // An unbanded optimal string alignment to compare with.
    const distance = (a: string, b: string): number => {
      const cells = Array.from({ length: a.length + 1 }, (_, i) =>
        Array.from({ length: b.length + 1 }, (_, j) => i + j),
      );
      for (let i = 1; i <= a.length; i++) {
        for (let j = 1; j <= b.length; j++) {
          const same = a[i - 1] === b[j - 1] ? 0 : 1;
          let least = Math.min(cells[i - 1]![j]! + 1, cells[i]![j - 1]! + 1, cells[i - 1]![j - 1]! + same);
          const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
          if (swapped) least = Math.min(least, cells[i - 2]![j - 2]! + 1);
          cells[i]![j] = least;
        }
      }
      return cells[a.length]![b.length]!;
    };
    let seed = 7;
    const letters = () => {
      let word = "";
      for (let i = 0; i < 12; i++) {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
        if (seed % 7 < 5) word += "abc"[(seed >> 8) % 3];
      }
      return word;
    };
    for (let round = 0; round < 500; round++) {
      const name = `${letters()}xyz`;
      const other = letters();
      // Different first letters exclude the rule of the common prefix.
      const within = distance(`1${name}`, `2${other}`) <= Math.min(4, Math.floor((name.length + 1) / 3));
      expect([name, other, closeNames(`1${name}`, [`2${other}`]).length]).toEqual([
        name,
        other,
        within ? 1 : 0,
      ]);
    }
  });

  test("are found among thousands of long names", () => {
    const many = Array.from({ length: 5000 }, (_, index) => `a${"xy".repeat(90)}${index}`);
    expect(closeNames(`b${"xy".repeat(90)}77`, many)[0]).toBe(many[77]);
  });
});
