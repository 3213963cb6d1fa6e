// The example of a catalog has a config of its own: its exports have inferred types, as in most programs.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const example = readFileSync(join(root, "examples/catalog/producer.ts"), "utf8");
const MISTAKE = /^\/\/ {3}(jobs\.dispatch\(.*\);)/gm;

/** The errors of the compiler for the example with this producer. */
function compile(producer: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "punctual-catalog-"));
  try {
    for (const name of ["src", "node_modules", "tsconfig.json", "package.json"])
      symlinkSync(join(root, name), join(folder, name));
    cpSync(join(root, "examples/catalog"), join(folder, "examples/catalog"), { recursive: true });
    writeFileSync(join(folder, "examples/catalog/producer.ts"), producer);
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const project = join(folder, "examples/catalog");
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", project, "--pretty", "false"], {
      encoding: "utf8",
    });
    return stdout.split("\n").filter((line) => line.includes("error TS"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("the example compiles, and each mistake that it names does not", () => {
  expect(compile(example)).toEqual([]);
  const mistakes = [...example.matchAll(MISTAKE)];
  expect(mistakes).toHaveLength(3);
  const errors = compile(example.replaceAll(MISTAKE, "$1 //"));
  expect(errors).toEqual([
    expect.stringContaining(`Argument of type '"emial"' is not assignable`),
    expect.stringContaining("Type 'number' is not assignable to type 'string'."),
    expect.stringContaining("Expected 2-3 arguments, but got 1."),
  ]);
});
