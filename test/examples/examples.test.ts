import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const folder = resolve(import.meta.dirname, "../../examples");
const programs = [
  ...readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.startsWith("start")),
  "catalog/producer.ts",
];

/** The lines after `// Output:`, to the end of the file. */
function expectedOutput(file: string): string {
  const [, block] = readFileSync(join(folder, file), "utf8").split("\n// Output:\n");
  if (block === undefined) throw new Error(`${file} has no "// Output:" block at its end.`);
  return block.replace(/^\/\/ ?/gm, "");
}

describe("examples", () => {
  test.concurrent.each(programs)("%s prints the output in its comments", async (file) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(folder, file)]);
    expect(stdout).toBe(expectedOutput(file));
    expect(stderr).toBe("");
  });

  test.each(["SIGINT", "SIGTERM"] as const)("start.ts works until %s, and drains", async (signal) => {
    const place = mkdtempSync(join(tmpdir(), "punctual-start-"));
    const { FORCE_COLOR: _, ...env } = process.env;
    const child = spawn(process.execPath, [join(folder, "start.ts")], {
      env: { ...env, NO_COLOR: "1", PUNCTUAL_DATABASE_URL: `sqlite:${join(place, "jobs.db")}` },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      let shown = "";
      let signalled = false;
      const enough = (text: string) => /greet +completed/.test(text) && /memory +completed/.test(text);
      for await (const chunk of child.stdout.setEncoding("utf8")) {
        shown += chunk;
        if (!signalled && enough(shown)) signalled = child.kill(signal);
      }
      if (child.exitCode === null) await once(child, "exit");
      expect(shown).toMatch(/^\d\d:\d\d:\d\d +#\d+ +greet +completed +\d+ ms +Hello, Ada!$/m);
      expect(shown).toMatch(/^\d\d:\d\d:\d\d +#\d+ +memory +ticked$/m);
      expect(shown).toMatch(/^dashboard http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}$/m);
      expect(shown).toMatch(/^Drained\. In \d+ s: \d+ completed/m);
      expect(child.exitCode).toBe(0);
    } finally {
      child.kill("SIGKILL");
      rmSync(place, { recursive: true, force: true });
    }
  });
});
