// The pages in the package, as a user reads them in node_modules or on the registry.
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isBroken, isLocal, linksIn } from "../docs/support/links.ts";
import { root } from "../docs/support/markdown.ts";

const folder = mkdtempSync(join(tmpdir(), "punctual-packed-"));
const packed = join(folder, "package");

beforeAll(() => {
  // Without its scripts: only pages are read, so nothing has to be built.
  const options = { cwd: root, stdio: "pipe" } as const;
  execFileSync(
    "npm",
    ["pack", "--ignore-scripts", "--pack-destination", folder, "--loglevel=error"],
    options,
  );
  const [tarball] = readdirSync(folder);
  execFileSync("tar", ["-xzf", join(folder, tarball!), "-C", folder]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pagesBelow = (place: string) => globSync("**/*.md", { cwd: place }).sort();
const guide = pagesBelow(join(root, "docs/guide")).map((page) => `docs/guide/${page}`);
const pages = ["CHANGELOG.md", "README.md", "docs/performance.md", ...guide];

describe("the packed package", () => {
  test("has the README, the changelog, the figures and the whole guide, and no other page", () => {
    expect(pagesBelow(packed)).toEqual([...pages].sort());
  });

  test.each(pages)("every link of %s leads to something in it", (page) => {
    const links = linksIn(readFileSync(join(packed, page), "utf8"));
    expect(links.filter(isLocal).filter((link) => isBroken(packed, page, link))).toEqual([]);
    const elsewhere = [
      "https://github.com/tj/commander.js",
      "https://keepachangelog.com/en/1.1.0/",
      "https://semver.org/spec/v2.0.0.html",
      "https://standardschema.dev",
    ];
    expect(links.filter((link) => !isLocal(link) && !elsewhere.includes(link))).toEqual([]);
  });
});
