import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const index = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** Opens a database in a process that cannot find these packages. */
async function openWithout(packages: string[], url: string): Promise<string> {
  const program = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(name, context, next) {
        if (${JSON.stringify(packages)}.includes(name)) throw new Error("Cannot find package " + name);
        return next(name, context);
      },
    });
    const { Punctual } = await import(${JSON.stringify(index)});
    const jobs = new Punctual(${JSON.stringify(url)}, { logger: false });
    await jobs.install().catch((error) => console.log(error.code + ": " + error.message));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  return stdout;
}

test.each([
  ["postgres://127.0.0.1:1/shop", "npm i pg"],
  ["mysql://127.0.0.1:1/shop", "npm i mysql2"],
  ["mariadb://127.0.0.1:1/shop", "npm i mysql2"],
])("%s without its driver names the package to install", async (url, cure) => {
  const told = await openWithout(["pg", "mysql2", "mysql2/promise"], url);
  expect(told).toMatch(/^DRIVER_MISSING: /);
  expect(told).toContain(cure);
});
