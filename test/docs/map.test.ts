import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { read, root } from "./support/markdown.ts";

/** The names in the map of CONTRIBUTING, by folder. */
function map(): Map<string, string[]> {
  const block = /## The map\n\n```\n([\s\S]*?)\n```/.exec(read("CONTRIBUTING.md"))![1]!;
  const names = new Map<string, string[]>();
  let folder = "";
  for (const line of block.split("\n")) {
    const [, indent, name] = /^( *)([\w.-]+\/?)/.exec(line)!;
    if (indent === "") {
      folder = name!;
      names.set(folder, []);
    } else names.get(folder)!.push(name!);
  }
  return names;
}

const entriesOf = (folder: string) =>
  readdirSync(join(root, folder), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );

test.each(["src/", "test/", "docs/"])("the map lists everything in %s, and nothing else", (folder) => {
  expect(map().get(folder)!.toSorted()).toEqual(entriesOf(folder).toSorted());
});

test("the glossary lists each term once, with files that exist", () => {
  const section = read("CONTRIBUTING.md").split("\n## Glossary\n")[1]!.split("\n## ")[0]!;
  const rows = section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| term |"));
  const terms = rows.flatMap((row) => row.split("|")[1]!.trim().split(", "));
  const files = rows.map((row) =>
    [
      ...row
        .split("|")
        .at(-2)!
        .matchAll(/`([^`]+)`/g),
    ].map(([, file]) => file!),
  );
  expect(rows.length).toBeGreaterThan(60);
  expect(terms).toEqual([...new Set(terms)]);
  expect(files.filter((named) => named.length === 0)).toEqual([]);
  expect(files.flat().filter((file) => !existsSync(join(root, "src", file)))).toEqual([]);
});
