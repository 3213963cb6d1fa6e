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
  [/\b(is|are) there\b/i, "exists, or say where"],
];

/** A comment begins with a verb or a noun: these beginnings postpone the subject. */
const LATE_SUBJECT = /^(What|Who|Whose|Where|Which|So|Those) /;

/** Lines that are a comment, with the text behind the marks. */
const COMMENT_LINE = /^\s*(?:\/\/+|\{?\/\*+|\*(?!\/))\s?(.*)$/;

const LONGEST_LINE = 120;

const SELF = "test/docs/words.test.ts";
const texts = everyTextFile.filter((file) => file !== SELF);
const code = texts.filter((file) => /\.(ts|tsx|css|mjs)$/.test(file));

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

  test("a comment begins with its subject", () => {
    expect(code.flatMap((file) => lateSubjects(file, read(file)))).toEqual([]);
  });

  test("lines of prose and of comments wrap at 120 characters", () => {
    const pages = texts.filter((file) => file.endsWith(".md"));
    expect(pages.flatMap((file) => longLines(file, read(file)))).toEqual([]);
    expect(code.flatMap((file) => longComments(file, read(file)))).toEqual([]);
  });

  test("the checks catch a banned word, a late subject and a long line", () => {
    expect(findings("a.md", "One\nWhoever mends this")).toEqual([
      "a.md:2 Whoever (name the actor)",
      "a.md:2 mends (fix)",
    ]);
    const comments = [
      "/** What a claim could take. */",
      "/** Runs that a claim could take. */",
      "/**",
      " * Where a run waits. The second line may begin with",
      " * What it likes.",
      " */",
      "// So it is.",
      "// So this line continues a comment.",
    ];
    expect(lateSubjects("a.ts", comments.join("\n"))).toEqual([
      "a.ts:1 What a claim could take. */",
      "a.ts:4 Where a run waits. The second line may begin with",
      "a.ts:7 So it is.",
    ]);
    expect(longLines("a.md", `x ${"word ".repeat(30)}`)).toEqual(["a.md:1 (152 characters)"]);
    expect(longComments("a.ts", `  // ${"x".repeat(116)}\n  x // ${"x".repeat(116)}`)).toEqual([
      "a.ts:1 (121 characters)",
    ]);
  });
});

/** Returns the first lines of comments whose subject comes late. */
function lateSubjects(file: string, text: string): string[] {
  let isInside = false;
  return text.split("\n").flatMap((line, index) => {
    const words = COMMENT_LINE.exec(line)?.[1];
    const opens = /^\s*\{?\/\*/.test(line);
    const isFirst = words !== undefined && words !== "" && (!isInside || opens);
    // A comment that opens with an empty line begins with the next one.
    isInside = words !== undefined && (words !== "" || (isInside && !opens));
    return isFirst && LATE_SUBJECT.test(words) ? [`${file}:${index + 1} ${words}`] : [];
  });
}

function longComments(file: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const isLong = line.length > LONGEST_LINE && COMMENT_LINE.test(line);
    return isLong ? [`${file}:${index + 1} (${line.length} characters)`] : [];
  });
}

/** Tables, code blocks and lines that are one quoted message cannot wrap. */
function longLines(file: string, text: string): string[] {
  const withoutCode = text.replace(/^```[\s\S]*?^```$/gm, (code) => code.replace(/[^\n]/g, ""));
  return withoutCode.split("\n").flatMap((line, index) => {
    const wraps = !line.startsWith("|") && !/^- `[^`]+`$/.test(line) && line.length > LONGEST_LINE;
    return wraps ? [`${file}:${index + 1} (${line.length} characters)`] : [];
  });
}
