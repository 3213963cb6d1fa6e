import { EventEmitter } from "node:events";
import { appendFileSync, type FSWatcher, mkdtempSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ChangeWatch } from "../../src/store/sqlite/change-watch.ts";
import { TestClock } from "../../src/testing/index.ts";
import { systemClock } from "../../src/time.ts";
import { eventually } from "../support/eventually.ts";

class FakeWatcher extends EventEmitter {
  closed = 0;
  close(): void {
    this.closed++;
  }
}

let clock: TestClock;
let version: number;
let looks: number;
let changes: number;
let watchers: FakeWatcher[];
/** How many calls of `fs.watch` throw. */
let failures: number;
let stop: () => void;

const last = () => watchers.at(-1)!;

function start(): ChangeWatch {
  return new ChangeWatch({
    path: "jobs.db",
    readVersion() {
      looks++;
      return version;
    },
    clock,
    onChange: () => changes++,
    watchFile: ((path: string, options: unknown) => {
      expect([path, options]).toEqual(["jobs.db-wal", { persistent: false }]);
      if (failures-- > 0) throw Object.assign(new Error("no more watches"), { code: "ENOSPC" });
      watchers.push(new FakeWatcher());
      return last() as unknown as FSWatcher;
    }) as typeof watch,
  });
}

/** Number of polls in that many milliseconds. */
async function looksIn(ms: number): Promise<number> {
  const before = looks;
  for (let passed = 0; passed < ms; passed++) await clock.advance("1ms");
  return looks - before;
}

beforeEach(() => {
  clock = new TestClock();
  watchers = [];
  [version, looks, changes, failures] = [1, 0, 0, 0];
});
afterEach(() => stop());

describe("a watched file", () => {
  beforeEach(() => {
    const watched = start();
    stop = () => watched.stop();
  });

  test("is polled ten times a second while nothing happens", async () => {
    expect(await looksIn(1000)).toBe(10);
    expect(changes).toBe(0);
  });

  test("is polled each millisecond after an event, until the commit that comes later", async () => {
    await looksIn(50);
    last().emit("change", "change", "jobs.db-wal");
    expect(await looksIn(8)).toBe(8);
    version = 2;
    expect(await looksIn(1)).toBe(1);
    expect(changes).toBe(1);
  });

  test.each([20, 80, 400])("a commit %i ms after its event is noticed soon", async (sync) => {
    last().emit("change", "change", "jobs.db-wal");
    await looksIn(sync);
    version = 2;
    await looksIn(sync / 8 + 2);
    expect(changes).toBe(1);
  });

  test("a change without an event is noticed", async () => {
    version = 2;
    await looksIn(100);
    expect(changes).toBe(1);
  });

  test("is polled often once its events do not arrive, and rarely once they do", async () => {
    for (let n = 0; n < 3; n++) {
      version++;
      await looksIn(100);
    }
    expect(changes).toBe(3);
    expect(await looksIn(1000)).toBe(100);
    last().emit("change", "change", "jobs.db-wal");
    version++;
    await looksIn(2000);
    expect(await looksIn(1000)).toBe(10);
  });

  test.each([
    ["reports an error", () => last().emit("error", new Error("EMFILE"))],
    ["was replaced", () => last().emit("change", "rename", "jobs.db-wal")],
  ])("that %s is polled often, and watched again later", async (_, happen) => {
    await looksIn(50);
    happen();
    expect(last().closed).toBe(1);
    expect(await looksIn(1000)).toBeGreaterThan(90);
    await looksIn(5000);
    expect(watchers).toHaveLength(2);
    expect(await looksIn(1000)).toBe(10);
  });

  test("is no longer watched at the end", async () => {
    stop();
    expect(last().closed).toBe(1);
    last().emit("change", "change", "jobs.db-wal");
    expect(await looksIn(1000)).toBe(0);
  });
});

test("a file that cannot be watched is polled often, and watched as soon as possible", async () => {
  failures = 2;
  const watched = start();
  stop = () => watched.stop();
  expect(await looksIn(1000)).toBe(100);
  await looksIn(10_000);
  expect(watchers).toHaveLength(1);
  expect(await looksIn(1000)).toBe(10);
});

test("a write to the WAL file is an event", async () => {
  const folder = mkdtempSync(join(tmpdir(), "punctual-watch-"));
  const path = join(folder, "jobs.db");
  writeFileSync(`${path}-wal`, "");
  const kinds: string[] = [];
  const watched = new ChangeWatch({
    path,
    readVersion: () => 1,
    clock: systemClock,
    onChange: () => {},
    watchFile: ((file: string, options: { persistent: boolean }) =>
      watch(file, options).on("change", (kind) => kinds.push(kind))) as typeof watch,
  });
  stop = () => {
    watched.stop();
    rmSync(folder, { recursive: true });
  };
  await eventually("an event", () => {
    appendFileSync(`${path}-wal`, "x");
    return kinds.includes("change");
  });
});
