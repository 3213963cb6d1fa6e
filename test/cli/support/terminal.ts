import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../../support/eventually.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Emulates the part of a terminal that the command line needs. */
export function screenOf(
  written: string,
  columns: number,
): {
  main: string[];
  other: string[];
  isOther: boolean;
  hasCursor: boolean;
} {
  const shown = { main: [""], other: [""], isOther: false, hasCursor: true };
  let row = 0;
  let column = 0;
  const lines = () => (shown.isOther ? shown.other : shown.main);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are steered by them
  for (const [token] of written.matchAll(/\x1b\[[?0-9;]*[A-Za-z]|[\s\S]/gu)) {
    const place = /^.\[(\d+);1H$/.exec(token);
    if (place) {
      row = Number(place[1]) - 1;
      column = 0;
    } else if (token === "\x1b[K") lines()[row] = (lines()[row] ?? "").slice(0, column);
    else if (token === "\x1b[2J") lines().splice(0);
    else if (token === "\x1b[?1049h") Object.assign(shown, { isOther: true, other: [] });
    else if (token === "\x1b[?1049l") {
      shown.isOther = false;
      row = shown.main.length - 1;
    } else if (token === "\x1b[?25h" || token === "\x1b[?25l") shown.hasCursor = token.endsWith("h");
    else if (token === "\n") row++;
    else if (token === "\r") column = 0;
    else if (!token.startsWith("\x1b")) {
      const line = lines()[row] ?? "";
      lines()[row] = line.slice(0, column).padEnd(column) + token + line.slice(column + 1);
      // No wrap to the next line: the screen has turned that off.
      column = Math.min(column + 1, columns - 1);
    }
  }
  return shown;
}

interface TerminalOptions {
  cwd: string;
  columns: number;
  rows: number;
  program?: string;
  /** Redirections of the shell, such as `2>file`. */
  redirect?: string;
}

/** The real program on a pseudo-terminal, made by `script` of util-linux; without it the test is skipped. */
export class Terminal {
  readonly #child: ChildProcess;
  readonly #folder = mkdtempSync(join(tmpdir(), "punctual-terminal-"));
  #columns: number;
  written = "";
  readonly ended: Promise<number | null>;

  constructor(args: string[], options: TerminalOptions) {
    this.#columns = options.columns;
    const program = options.program ?? join(root, "src/cli/main.ts");
    const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
    const command = [
      `tty > ${this.#folder}/tty`,
      `stty cols ${options.columns} rows ${options.rows}`,
      `echo $$ > ${this.#folder}/pid`,
      `exec ${[process.execPath, program, ...args].map(quote).join(" ")} ${options.redirect ?? ""}`,
    ].join("; ");
    const { NO_COLOR: _, FORCE_COLOR: __, PUNCTUAL_DATABASE_URL: ___, ...inherited } = process.env;
    this.#child = spawn("script", ["-qec", command, "/dev/null"], {
      cwd: options.cwd,
      env: { ...inherited, LC_ALL: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.written += text;
    });
    this.ended = new Promise((ended, failed) => {
      this.#child.on("error", failed);
      this.#child.on("close", (code) => ended(code));
    });
    onTestFinished(async () => {
      if (this.#child.exitCode === null) this.#child.kill("SIGKILL");
      await this.ended.catch(() => {});
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  get screen(): ReturnType<typeof screenOf> {
    return screenOf(this.written, this.#columns);
  }

  /** Waits until the screen shows it. */
  shows(what: string | RegExp): Promise<unknown> {
    const text = () => [...(this.screen.isOther ? this.screen.other : this.screen.main)].join("\n");
    return eventually(
      () => `${what} on the screen:\n${text()}`,
      () => (typeof what === "string" ? text().includes(what) : what.test(text())),
    );
  }

  press(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#columns = columns;
    const tty = readFileSync(join(this.#folder, "tty"), "utf8").trim();
    execFileSync("stty", ["-F", tty, "cols", String(columns), "rows", String(rows)]);
  }

  async pid(): Promise<number> {
    const file = join(this.#folder, "pid");
    await eventually("the process id", () => existsSync(file));
    return Number(readFileSync(file, "utf8"));
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    process.kill(await this.pid(), signal);
  }

  /** As if the user closed the window. */
  vanish(): void {
    this.#child.kill("SIGKILL");
  }
}
