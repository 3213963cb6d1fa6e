// The front page: its example is run, and its figures are those of the pages that it links to.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../api/support/child.ts";
import { read, root } from "./support/markdown.ts";

const text = read("README.md");
const [, example = "", output = ""] = /^```ts\n([\s\S]*?)^```\n\n```\n([\s\S]*?)^```/m.exec(text) ?? [];

test("the example prints the output below it, until it is interrupted", async () => {
  const cwd = temporaryFolder();
  const source = JSON.stringify(pathToFileURL(join(root, "src/index.ts")).href);
  writeFileSync(join(cwd, "example.mts"), example.replace('"punctual"', source));
  const child = spawn(process.execPath, ["example.mts"], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    printed += chunk;
    if (printed.split("\n").length >= output.split("\n").length) child.kill("SIGINT");
  }
  if (child.exitCode === null) await once(child, "exit");
  expect(output).not.toBe("");
  expect(printed).toBe(output);
  expect(child.exitCode).toBe(0);
});

test("every figure of a claim is on the page that the claim links to", () => {
  const claims = [...text.matchAll(/^- \*\*.*?\n(?= *[-#]|\n)/gms)].map(([claim]) => claim);
  const linked = claims.filter((claim) => claim.includes("](docs/")).slice(0, 3);
  expect(linked).toHaveLength(3);
  for (const claim of linked) {
    const [, page] = /\((docs\/[\w/-]+\.md)[#)]/.exec(claim)!;
    const guide = read(page!);
    const figures = claim.replace(/\]\([^)]*\)/g, "").match(/\d[\d,.]*\d|\d+/g) ?? [];
    expect(figures.length).toBeGreaterThan(0);
    expect(figures.filter((figure) => !guide.includes(figure))).toEqual([]);
  }
});
