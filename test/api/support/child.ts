import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

const source = new URL("../../../src/", import.meta.url);

/** A temporary folder, deleted after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "punctual-api-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a script in its own process. In its imports `punctual` and `punctual/testing` mean the sources. */
export function runScript(
  script: string,
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const cwd = options.cwd ?? temporaryFolder();
  const file = join(cwd, "script.ts");
  const at = (path: string) => JSON.stringify(new URL(path, source).href);
  writeFileSync(
    file,
    script.replaceAll('"punctual/testing"', at("testing/index.ts")).replaceAll('"punctual"', at("index.ts")),
  );
  const { PUNCTUAL_DATABASE_URL: _, NODE_OPTIONS: __, ...inherited } = process.env;
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", file],
      { cwd, env: { ...inherited, ...options.env }, timeout: 30_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}
