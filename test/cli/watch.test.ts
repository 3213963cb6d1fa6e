import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { widthOf } from "../../src/cli/render/width.ts";
import { eventually } from "../support/eventually.ts";
import { project, start } from "./support/punctual.ts";
import { seed } from "./support/seed.ts";
import { Terminal } from "./support/terminal.ts";

const LEFT = "\x1b[?7h\x1b[?25h\x1b[?1049l";

async function watching(args = ["status", "--watch=100ms"], columns = 80, rows = 24, redirect = "") {
  const folder = project();
  const { db } = await seed(folder);
  const terminal = new Terminal([...args, "--db", db], { cwd: folder, columns, rows, redirect });
  await terminal.shows("q quit");
  return { folder, terminal };
}

/** Expects that the terminal was restored. */
function expectLeft(terminal: Terminal): void {
  const { isOther, hasCursor, main } = terminal.screen;
  expect({ isOther, hasCursor }).toEqual({ isOther: false, hasCursor: true });
  expect(terminal.written).toContain(LEFT);
  expect(main.join("")).not.toContain("sync-stripe");
}

describe("a live screen on a terminal", () => {
  test("uses the alternate screen, and q exits with 0", async () => {
    const { terminal } = await watching();
    const { isOther, hasCursor, other } = terminal.screen;
    expect({ isOther, hasCursor }).toEqual({ isOther: true, hasCursor: false });
    expect(other[0]).toMatch(/^Defined: 8 \| Running: 1 \| Idle: 7/);
    expect(other.join("\n")).toContain("q quit");
    expect(other.find((line) => line?.includes("send-invoice"))).toMatch(/connect E\w*…$/);
    expect(terminal.written).toContain("\x1b[?2026h");
    for (const line of other) expect(widthOf(line ?? "")).toBeLessThanOrEqual(80);
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
    expectLeft(terminal);
  });

  test("Ctrl-C exits with 130", async () => {
    const { terminal } = await watching();
    terminal.press("\x03");
    expect(await terminal.ended).toBe(130);
    expectLeft(terminal);
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)("%s exits with %i", async (signal, code) => {
    const { terminal } = await watching();
    await terminal.signal(signal);
    expect(await terminal.ended).toBe(code);
    expectLeft(terminal);
  });

  test("redraws when the terminal changes its size", async () => {
    const { terminal } = await watching(["status", "--watch=100ms"], 120, 24);
    await terminal.shows("Queue");
    const before = terminal.written.length;
    terminal.resize(60, 12);
    await terminal.shows(/of 8/);
    expect(terminal.written.slice(before)).toContain("\x1b[2J");
    for (const line of terminal.screen.other) expect(widthOf(line ?? "")).toBeLessThanOrEqual(60);
    expect(terminal.screen.other.length).toBeLessThanOrEqual(12);
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test("follows the database, and writes only changed lines", async () => {
    const { folder, terminal } = await watching();
    const before = terminal.written.length;
    const database = new DatabaseSync(join(folder, "jobs.db"));
    database.exec(
      "update punctual_jobs set fail_count = 7, last_error = 'disk full' where name = 'sync-stripe'",
    );
    database.close();
    await terminal.shows("disk full");
    expect(terminal.written.slice(before)).not.toContain("\x1b[2J");
    expect(terminal.written.slice(before)).not.toContain("Defined: 8");
    terminal.press("q");
    await terminal.ended;
  });

  test("keys scroll, sort and pause", async () => {
    const { terminal } = await watching(["status", "--watch=100ms"], 80, 10);
    await terminal.shows("1-4 of 8");
    terminal.press("\x1b[B".repeat(4));
    await terminal.shows("2-5 of 8");
    terminal.press("kkkk");
    await terminal.shows("1-4 of 8");
    terminal.press("s");
    await terminal.shows("sort: queue");
    terminal.press("p");
    await terminal.shows("PAUSED");
    terminal.press("p");
    await terminal.shows("p pause");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test("Enter opens the selected line, and Escape goes back to it", async () => {
    const { folder, terminal } = await watching(["status", "--watch=100ms"]);
    const marked = () => {
      const lines = terminal.screen.other;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are steered by them
      const row = [...terminal.written.matchAll(/\x1b\[(\d+);1H\x1b\[K\x1b\[7m/g)].at(-1);
      return lines[Number(row?.[1]) - 1];
    };
    const first = await eventually("a line is marked", () => marked());
    terminal.press("j");
    await eventually("the next line is marked", () => marked() !== first);
    terminal.press("/sync-stripe\r");
    await eventually("the line that was looked for is marked", () => marked()?.includes("sync-stripe"));
    terminal.press("\r");
    await terminal.shows("Esc back");
    const page = () => terminal.screen.other.join("\n");
    expect(page()).toContain("sync-stripe");
    expect(page()).not.toContain("Defined: 8");
    const database = new DatabaseSync(join(folder, "jobs.db"));
    database.exec(
      "update punctual_jobs set fail_count = 7, last_error = 'disk full' where name = 'sync-stripe'",
    );
    database.close();
    await terminal.shows("disk full");
    terminal.press("\x1b");
    await terminal.shows("Defined: 8");
    expect(marked()).toContain("sync-stripe");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
    expectLeft(terminal);
  });

  test("explains the state of a run that is opened from a list", async () => {
    const { terminal } = await watching(["list", "runs", "--watch=100ms"], 100, 30);
    await terminal.shows("Enter open");
    terminal.press("\r");
    await terminal.shows("Esc back");
    expect(terminal.screen.other.join("\n")).toContain("No live worker serves");
    terminal.press("\r");
    await terminal.shows("Enter open");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test("a search filters the lines until it is cleared", async () => {
    const { terminal } = await watching(["status", "--watch=100ms"]);
    await terminal.shows("/ find");
    terminal.press("/");
    terminal.press("STRIPx\x7f");
    await terminal.shows(/^\/STRIP$/m);
    const shown = () => terminal.screen.other.join("\n");
    expect(shown()).toContain("sync-stripe");
    expect(shown()).toContain("Defined: 8");
    expect(shown()).not.toContain("nightly-export");
    terminal.press("\r");
    await terminal.shows(/q quit.*\/STRIP/);
    expect(shown()).not.toContain("nightly-export");
    terminal.press("/");
    terminal.press("\x1b");
    await terminal.shows("nightly-export");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test("r refreshes at once, also while paused", async () => {
    const { folder, terminal } = await watching(["status", "--watch=1h"]);
    terminal.press("p");
    await terminal.shows("PAUSED");
    const database = new DatabaseSync(join(folder, "jobs.db"));
    database.exec(
      "update punctual_jobs set fail_count = 7, last_error = 'disk full' where name = 'sync-stripe'",
    );
    database.close();
    terminal.press("r");
    await terminal.shows("disk full");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
  });

  test("prints an uncaught exception on the main screen", async () => {
    const source = resolve(import.meta.dirname, "../../src/cli");
    const folder = project({
      "crash.ts": `
        import { Output } from "${source}/output/output.ts";
        import { watch } from "${source}/views/live-view.ts";
        const globals = {};
        const output = new Output(process.stdout, process.stderr, globals);
        setTimeout(() => { throw new Error("out of the blue"); }, 300);
        const picture = () => ({ head: ["a live screen"], body: [], foot: [] });
        await watch({ output, globals }, { every: 100, take: async () => 1, json: () => ({}), picture });
      `,
    });
    const terminal = new Terminal([], {
      cwd: folder,
      columns: 80,
      rows: 24,
      program: join(folder, "crash.ts"),
    });
    await terminal.shows("out of the blue");
    expect(await terminal.ended).toBe(1);
    const { isOther, hasCursor, main } = terminal.screen;
    expect({ isOther, hasCursor }).toEqual({ isOther: false, hasCursor: true });
    expect(main.join("\n")).toContain("out of the blue");
    expect(terminal.written).toContain("a live screen");
  });

  test("exists for list", async () => {
    const { terminal } = await watching(["list", "-w"]);
    await terminal.shows("nightly-export");
    terminal.press("q");
    expect(await terminal.ended).toBe(0);
    expectLeft(terminal);
  });
});

test("without a terminal prints a line of JSON each time", async () => {
  const folder = project();
  const { db } = await seed(folder);
  const running = start(["status", "--watch=100ms", "--db", db], { cwd: folder });
  await running.shows(/\n.*\n.*\n/);
  running.child.kill("SIGTERM");
  const { stdout, signal } = await running.ended;
  expect(signal).toBe("SIGTERM");
  const [first] = stdout.split("\n");
  expect(JSON.parse(first!)).toMatchObject({ v: 1, defined: 8, running: 1, idle: 7 });
  expect(stdout).not.toContain("\x1b");
});

test("list -w accepts the kind behind it", async () => {
  const folder = project();
  const { db } = await seed(folder);
  const running = start(["list", "--db", db, "-w", "queues"], { cwd: folder });
  await running.shows('"queues":');
  running.child.kill("SIGTERM");
  await running.ended;
});

test("exists as top", async () => {
  const folder = project();
  const { db } = await seed(folder);
  const running = start(["top", "sync-*", "--db", db], { cwd: folder });
  await running.shows(/\n.*\n/);
  running.child.kill("SIGTERM");
  const [first] = (await running.ended).stdout.split("\n");
  expect(JSON.parse(first!).jobs).toMatchObject([{ name: "sync-stripe" }]);
});

test("prints errors at the start as usual", async () => {
  const terminal = new Terminal(["status", "-w", "--db", "sqlite:/nowhere/at/all.db"], {
    cwd: project(),
    columns: 80,
    rows: 24,
  });
  expect(await terminal.ended).toBe(5);
  expect(terminal.written).not.toContain("\x1b[?1049h");
});

test("ends without a message when the terminal window is closed", async () => {
  const { terminal, folder } = await watching(["status", "--watch=100ms"], 80, 24, "2>complaints");
  const pid = await terminal.pid();
  terminal.vanish();
  await eventually("the end of the process", () => !isAlive(pid));
  expect(readFileSync(join(folder, "complaints"), "utf8")).toBe("");
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
