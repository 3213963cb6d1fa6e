// The transactions that the guide shows, on real servers.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/time.ts";
import { type Database, selected } from "../conformance/support/stores.ts";
import { root } from "./support/markdown.ts";
import { moduleOf, type Snippet, snippets } from "./support/snippets.ts";

const shown = snippets.filter(
  ({ page, text }) => page === "docs/guide/databases.md" && text.includes(".within("),
);

/** Each block in a scope of its own, and after it what has been written so far. */
function programOf(blocks: Snippet[], prelude: string): string {
  const told = `console.log(JSON.stringify([(await jobs.runs({ job: "email" })).runs.length, (await knex("orders")).length]));`;
  const source = JSON.stringify(join(root, "src/index.ts"));
  const scopes = blocks.map(({ text }) => `{\n${text}\n}\n${told}`);
  return moduleOf(prelude, `${scopes.join("\n")}\nprocess.exit();`).replace('"punctual"', () => source);
}

async function run(program: string, database: Database): Promise<unknown[]> {
  const opened = await database.open(systemClock);
  const folder = mkdtempSync(join(tmpdir(), "punctual-within-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
    const file = join(folder, "program.mts");
    writeFileSync(file, program);
    const env = { ...process.env, DATABASE_URL: opened.url };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await opened.teardown();
  }
}

const servers = selected.filter(({ name }) => name !== "sqlite");

if (servers.length === 0) test.todo("no server is selected");

describe.runIf(servers.length > 0)("the transactions of the guide", () => {
  async function writtenBy(database: Database, change: (text: string) => string): Promise<unknown[]> {
    const prelude = database.name === "postgres" ? "postgres" : "mysql";
    const blocks = shown.filter((one) => one.prelude === "servers" || one.prelude === prelude);
    const changed = blocks.map((one) => ({ ...one, text: change(one.text) }));
    return run(programOf(changed, prelude), database);
  }

  test.each(servers)("each inserts one run and one order on $name", async (database) => {
    expect(await writtenBy(database, (text) => text)).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
  });

  test.each(servers)("each that fails afterwards inserts neither on $name", async (database) => {
    const failing = (text: string) => {
      const failed = text.replace(/(\.within\(\w+\);)/, '$1 throw new Error("no chairs left");');
      return `try {\n${failed}\n} catch (error) {\n  if (!String(error).includes("no chairs left")) throw error;\n}`;
    };
    expect(await writtenBy(database, failing)).toEqual(Array(4).fill([0, 0]));
  });
});
