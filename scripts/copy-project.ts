import { cpSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./run-tool.ts";

const COPIED = [
  "src",
  "test",
  "dashboard",
  "examples",
  "bench",
  "docs",
  "scripts",
  "package.json",
  "package-lock.json",
  "README.md",
  "tsconfig.json",
  "tsconfig.build.json",
  "vitest.config.ts",
];

/** Copies the project, so that faults can be planted in the copy. Returns its folder. */
export function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), "punctual-mutants-"));
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}
