import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";

/** Compares with `golden/<name>.txt`; `UPDATE_GOLDEN=1` writes it again, for a person to read. */
export function expectGolden(name: string, lines: string[]): void {
  const file = join(import.meta.dirname, "../golden", `${name}.txt`);
  const text = `${lines.join("\n")}\n`;
  if (process.env.UPDATE_GOLDEN) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text).toBe(readFileSync(file, "utf8"));
}
