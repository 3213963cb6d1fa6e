import { readdirSync } from "node:fs";
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
