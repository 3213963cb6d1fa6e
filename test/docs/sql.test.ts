// The statements that each database receives, as files that people can read, run and compare.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { fresh } from "../conformance/support/fresh.ts";
import { selected } from "../conformance/support/stores.ts";
import { label } from "../servers/server.ts";
import { formatSql } from "./support/format-sql.ts";
import { read, root } from "./support/markdown.ts";
import { describeSql } from "./support/sql-descriptions.ts";
import { operations, type Scene } from "./support/sql-scenes.ts";
import { openRecordingStore, type RecordedStatement } from "./support/statement-recorder.ts";

const WIDTH = 110;

/** A statement with single spaces, and a number in place of the random nonce of a receipt. */
function normalise({ text, params }: RecordedStatement): RecordedStatement {
  const plain = text.replace(/\s+/g, " ").trim();
  const isReceipt = /insert into \w+_receipts \(id, created_at, nonce\) values/.test(plain);
  if (!isReceipt) return { text: plain, params };
  if (params.length === 0) return { text: plain.replace(/\d+\)$/, "123456789)"), params };
  return { text: plain, params: params.with(2, 123_456_789) };
}

function show(value: unknown): string {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** The example values, as comment lines. */
function parameters(text: string, params: readonly unknown[]): string[] {
  const sign = text.includes("$1") ? "$" : "?";
  const lines: string[] = [];
  for (const [index, value] of params.entries()) {
    const one = `${sign}${index + 1} = ${show(value)}`;
    const joined = `${lines.at(-1)}, ${one}`;
    if (lines.length > 0 && joined.length <= WIDTH) lines[lines.length - 1] = joined;
    else lines.push(`-- ${one}`);
  }
  return lines;
}

function render(scenes: Scene[], title: string): string {
  const shown = new Set<string>();
  const blocks = [
    `-- ${title}\n-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.`,
  ];
  for (const { title, statements } of scenes) {
    blocks.push(`-- ## ${title}`);
    for (const statement of statements) {
      const { text, params } = normalise(statement);
      const description = describeSql(text);
      if (shown.has(text)) blocks.push(`-- Again: ${description}`);
      else {
        blocks.push([`-- ${description}`, ...parameters(text, params), `${formatSql(text)};`].join("\n"));
        shown.add(text);
      }
    }
  }
  return `${blocks.join("\n\n")}\n`;
}

const TITLES: Record<keyof typeof operations, string> = {
  insert: "dispatches are inserted",
  claim: "a worker claims runs",
  settle: "a worker settles runs",
  tick: "a worker ticks schedules",
  reap: "a janitor reaps runs whose leases have ended",
};

describe.each(selected)("statements on $name", (database) => {
  const at = fresh(database, "once");

  test.each(Object.keys(TITLES) as (keyof typeof operations)[])("%s", async (operation) => {
    const recording = await openRecordingStore(database.name, at.url, at.clock);
    let scenes: Scene[];
    try {
      await recording.store.install();
      scenes = await operations[operation](recording, at.clock);
    } finally {
      await recording.close();
    }
    const name = database.name === "sqlite" ? "SQLite" : label[database.name];
    const made = render(scenes, `What ${name} receives when ${TITLES[operation]}.`);
    const page = `docs/sql/${database.name}/${operation}.sql`;
    if (process.env.UPDATE_DOCS) {
      mkdirSync(dirname(join(root, page)), { recursive: true });
      writeFileSync(join(root, page), made);
    }
    expect(
      existsSync(join(root, page)) ? read(page) : "",
      `${page} is out of date. Run this test once with UPDATE_DOCS=1 to write it.`,
    ).toBe(made);
  });
});

test("formatting a statement changes nothing but white space", () => {
  const text =
    "select 'a  (b', max(id) from (select 1 as id union all select 2) t where t.id in (1, 2) and t.id <> 3";
  const plain = (sql: string) => sql.replace(/\s+/g, "");
  const long = `${text} or exists (${text}) or exists (${text})`;
  expect(formatSql(long)).toContain("\n");
  expect(plain(formatSql(long))).toBe(plain(long));
});
