import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { everyTextFile } from "../support/tree.ts";
import { root } from "./support/markdown.ts";

/** Words that made readers read twice, with the plain ones for them. */
const PLAIN_WORDS: [banned: RegExp, plain: string][] = [
  [/\bwhoever\b/i, "name the actor"],
  [/\bmend(s|ed|ing)?\b/i, "fix"],
  [/\banew\b/i, "again"],
  [/\bnobody's\b/i, "name what has no owner"],
  [/\bso (many|much)\b/i, "give the quantity"],
  [/\btold of\b/i, "reported, notified"],
  [/\b(come|comes|came|coming) to\b(?! (an|its|the) end\b)/i, "result in, reach"],
  [/\bha(s|ve) the say\b/i, "wins, decides"],
  [/\bby the hand\b/i, "say what is done"],
  [/\bthe way to\b/i, "how to"],
  [/\bat home\b/i, "say where"],
  [/\bgets? on\b/i, "continues"],
  [/\bbe well\b/i, "healthy"],
];

/** A doc comment begins with a verb or a noun: these beginnings postpone the subject. */
const LATE_SUBJECT = /(?:\/\*\*|^\s*\/\/) (What|Who|Where|So|Those) /;

const LONGEST_LINE = 120;

const SELF = "test/docs/words.test.ts";
const texts = everyTextFile.filter((file) => file !== SELF);

function findings(file: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const at = `${file}:${index + 1}`;
    const banned = PLAIN_WORDS.filter(([word]) => word.test(line));
    return banned.map(([word, plain]) => `${at} ${line.match(word)![0]} (${plain})`);
  });
}

const read = (file: string) => readFileSync(join(root, file), "utf8");

describe("the words we use", () => {
  test("no banned word is in any text of the project", () => {
    expect(texts.flatMap((file) => findings(file, read(file)))).toEqual([]);
  });

  test("a comment in the sources begins with its subject", () => {
    const late = texts
      .filter((file) => file.startsWith("src/"))
      .flatMap((file) =>
        read(file)
          .split("\n")
          .flatMap((line, index) => (LATE_SUBJECT.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [])),
      );
    expect(late).toEqual([]);
  });

  test("lines of prose wrap at 120 characters", () => {
    const pages = texts.filter((file) => file.endsWith(".md"));
    expect(pages.flatMap((file) => longLines(file, read(file)))).toEqual([]);
  });

  test("the checks catch a banned word, a late subject and a long line", () => {
    expect(findings("a.md", "One\nWhoever mends this")).toEqual([
      "a.md:2 Whoever (name the actor)",
      "a.md:2 mends (fix)",
    ]);
    expect(LATE_SUBJECT.test("/** What a claim could take. */")).toBe(true);
    expect(LATE_SUBJECT.test("/** Runs that a claim could take. */")).toBe(false);
    expect(longLines("a.md", `x ${"word ".repeat(30)}`)).toEqual(["a.md:1 (152 characters)"]);
  });
});

/** Tables, code blocks and lines that are one quoted message cannot wrap. */
function longLines(file: string, text: string): string[] {
  const withoutCode = text.replace(/^```[\s\S]*?^```$/gm, (code) => code.replace(/[^\n]/g, ""));
  return withoutCode.split("\n").flatMap((line, index) => {
    const wraps = !line.startsWith("|") && !/^- `[^`]+`$/.test(line) && line.length > LONGEST_LINE;
    return wraps ? [`${file}:${index + 1} (${line.length} characters)`] : [];
  });
}
