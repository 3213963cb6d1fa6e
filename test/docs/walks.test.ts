// CONTRIBUTING's walks: the files that a dispatch, an exchange, a tick and a command pass.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { sharedServer } from "../servers/shared.ts";
import { read, root } from "./support/markdown.ts";

const source = join(root, "src");
const folder = mkdtempSync(join(tmpdir(), "punctual-walks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Files that connect others: the parts of an instance, the databases behind the contract, and the public class. A walk
 * may pass from any file to one that these import.
 */
const WIRING = [
  "engine.ts",
  "jobs.ts",
  "operate/operations.ts",
  "store/open.ts",
  "store/sqlite/open.ts",
  "store/sqlite/store.ts",
  "store/postgres/open.ts",
  "store/sql/store.ts",
];

/** The files that a section of CONTRIBUTING names in its numbered list, in order. */
function walk(heading: string): string[] {
  const section = read("CONTRIBUTING.md").split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  const steps = section.split("\n").filter((line) => /^(\d+\.| {3,})/.test(line));
  const named = steps.join(" ").matchAll(/`([\w/-]+\.ts)`/g);
  return [...new Set([...named].map(([, file]) => file!))];
}

function importsOf(file: string): string[] {
  const found = readFileSync(join(source, file), "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found].map(([, path]) => relative(source, resolve(source, dirname(file), path!)));
}

/** Files that neither an earlier file nor the wiring imports, and that import no earlier one. */
function unconnected(files: string[]): string[] {
  const wired = new Set(WIRING.flatMap(importsOf));
  return files.slice(1).filter((file, index) => {
    const earlier = files.slice(0, index + 1);
    const own = importsOf(file);
    return !(wired.has(file) || earlier.some((one) => own.includes(one) || importsOf(one).includes(file)));
  });
}

function executed(what: string, url: string): string[] {
  const script = fileURLToPath(new URL("./support/record-walk.ts", import.meta.url));
  return JSON.parse(execFileSync(process.execPath, [script, what, url], { encoding: "utf8" }));
}

function executedByStatus(): string[] {
  const url = sqlite("status");
  executed("dispatch", url);
  const coverage = join(folder, "coverage");
  const env = { ...process.env, NODE_V8_COVERAGE: coverage };
  execFileSync(process.execPath, [join(source, "cli/main.ts"), "status", "--db", url], { cwd: folder, env });
  type Script = { url: string; functions: { functionName: string; ranges: { count: number }[] }[] };
  const scripts = readdirSync(coverage).flatMap<Script>(
    (file) => JSON.parse(readFileSync(join(coverage, file), "utf8")).result,
  );
  return scripts
    .filter((one) => one.url.startsWith("file:"))
    .filter(({ functions }) => functions.some(({ ranges }) => ranges[0]!.count > 0))
    .map((one) => relative(source, fileURLToPath(one.url)));
}

const sqlite = (name: string) => `sqlite:${join(folder, `${name}.db`)}`;

describe.each([
  ["The walk of a dispatch", 10, async () => executed("dispatch", sqlite("dispatch"))],
  ["The walk of an exchange", 18, async () => executed("exchange", (await sharedServer("postgres")).url)],
  ["The walk of a tick", 8, async () => executed("tick", sqlite("tick"))],
  ["The walk of a command", 15, async () => executedByStatus()],
])("%s", (heading, most, files) => {
  test("is short, and each file is imported by an earlier one or by the wiring", () => {
    const named = walk(heading);
    expect(named.length).toBeGreaterThan(4);
    expect(named.length).toBeLessThanOrEqual(most);
    expect(unconnected(named)).toEqual([]);
  });

  test("is true: each of its files is executed", async () => {
    const run = await files();
    expect(walk(heading).filter((file) => !run.includes(file))).toEqual([]);
  });
});

test("the check finds a file that is not on the path", () => {
  expect(unconnected(["dispatch/dispatch.ts", "cli/render/table.ts"])).toEqual(["cli/render/table.ts"]);
});
