import { EventEmitter } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { keysOf, Screen } from "../../src/cli/render/screen.ts";

class Terminal extends EventEmitter {
  written = "";
  readonly isTTY = true;
  columns = 80;
  rows = 4;
  raw: boolean[] = [];
  write(text: string): void {
    this.written += text;
  }
  setRawMode(raw: boolean): void {
    this.raw.push(raw);
  }
  resume(): void {}
  pause(): void {}
  take(): string {
    const taken = this.written;
    this.written = "";
    return taken;
  }
}

const opened: Screen[] = [];
afterEach(() => {
  for (const screen of opened.splice(0)) screen.close();
});

function open() {
  const terminal = new Terminal();
  const keys: string[] = [];
  let resized = 0;
  const screen = new Screen(terminal, terminal, {
    onKey: (key) => keys.push(key),
    onResize: () => resized++,
  });
  opened.push(screen);
  screen.open();
  return { terminal, screen, keys, resized: () => resized };
}

const ENTERED = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEFT = "\x1b[?7h\x1b[?25h\x1b[?1049l";

describe("screen", () => {
  test("writes only changed lines, in one update", () => {
    const { terminal, screen } = open();
    expect(terminal.take()).toBe(ENTERED);
    screen.draw(["a", "b", "c"]);
    expect(terminal.take()).toBe(
      "\x1b[?2026h\x1b[2J\x1b[1;1H\x1b[Ka\x1b[0m\x1b[2;1H\x1b[Kb\x1b[0m\x1b[3;1H\x1b[Kc\x1b[0m\x1b[?2026l",
    );
    screen.draw(["a", "B", "c"]);
    expect(terminal.take()).toBe("\x1b[?2026h\x1b[2;1H\x1b[KB\x1b[0m\x1b[?2026l");
    screen.draw(["a", "B", "c"]);
    expect(terminal.take()).toBe("");
    screen.draw(["a"]);
    expect(terminal.take()).toBe("\x1b[?2026h\x1b[2;1H\x1b[K\x1b[0m\x1b[3;1H\x1b[K\x1b[0m\x1b[?2026l");
    screen.draw(["a", "b", "c", "d", "beyond the last row"]);
    expect(terminal.take()).not.toContain("beyond");
  });

  test("draws everything again when the terminal changes its size", () => {
    const { terminal, screen, resized } = open();
    screen.draw(["a", "b"]);
    terminal.take();
    const before = resized();
    terminal.emit("resize");
    expect(resized()).toBe(before + 1);
    screen.draw(["a", "b"]);
    expect(terminal.take()).toContain("\x1b[2J\x1b[1;1H\x1b[Ka\x1b[0m\x1b[2;1H\x1b[Kb");
  });

  test("restores the terminal once when it is closed", () => {
    const { terminal, screen } = open();
    terminal.take();
    screen.close();
    screen.close();
    expect(terminal.take()).toBe(`\x1b[?2026l${LEFT}`);
    expect(terminal.raw).toEqual([true, false]);
    screen.draw(["late"]);
    expect(terminal.take()).toBe("");
    expect(terminal.listenerCount("data")).toBe(0);
    expect(terminal.listenerCount("resize")).toBe(0);
  });

  test("restores the terminal when the process ends", () => {
    const { terminal } = open();
    terminal.take();
    process.emit("exit", 1);
    expect(terminal.take()).toContain(LEFT);
  });

  test("ends at a signal and at Ctrl-C, and passes other keys on", async () => {
    const one = open();
    one.terminal.emit("data", Buffer.from("q\x1b[A\x03"));
    expect(one.keys).toEqual(["q", "up"]);
    expect(await one.screen.ended).toBe("SIGINT");
    const other = open();
    process.emit("SIGTERM", "SIGTERM");
    expect(await other.screen.ended).toBe("SIGTERM");
    const third = open();
    third.screen.quit();
    expect(await third.screen.ended).toBe("quit");
  });
});

test("separates keys that arrive together", () => {
  expect(keysOf("qp\x1b[A\x1bOB\x1b[5~\r\x1b\x03ä")).toEqual([
    "q",
    "p",
    "up",
    "down",
    "page-up",
    "enter",
    "escape",
    "ctrl-c",
    "ä",
  ]);
});
