import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";
import { write } from "./support/punctual.ts";
import { Terminal } from "./support/terminal.ts";

const main = resolve(import.meta.dirname, "../../src/cli/main.ts");

/** Asks to cancel the one run that waits, at a terminal where somebody sits, also if the tests have no terminal. */
async function asked() {
  const { cwd, url, jobs } = scene();
  const { id } = await jobs.declare("one").dispatch({});
  write(cwd, { "ask.ts": `delete process.env.CI;\nawait import(${JSON.stringify(main)});\n` });
  const args = ["cancel", "--where", "job:one", "--db", url];
  const terminal = new Terminal(args, { cwd, columns: 80, rows: 24, program: join(cwd, "ask.ts") });
  await terminal.shows("Cancel 1 run? [y/N]");
  return { terminal, state: () => jobs.state(id) };
}

test("yes confirms", async () => {
  const { terminal, state } = await asked();
  terminal.press("y\r");
  expect(await terminal.ended).toBe(0);
  expect(terminal.written).toContain("1 cancelled");
  expect(await state()).toBe("cancelled");
});

test.each([
  ["n\r", 7],
  ["\r", 7],
  ["\x04", 7],
  ["\x03", 130],
])("%j does not confirm", async (keys, code) => {
  const { terminal, state } = await asked();
  terminal.press(keys);
  expect(await terminal.ended).toBe(code);
  expect(terminal.written).toContain("Nothing was done.");
  expect(await state()).toBe("ready");
});
