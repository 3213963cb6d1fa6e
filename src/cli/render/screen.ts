const NAMED: Record<string, string> = {
  "\x1b[A": "up",
  "\x1bOA": "up",
  "\x1b[B": "down",
  "\x1bOB": "down",
  "\x1b[5~": "page-up",
  "\x1b[6~": "page-down",
  "\x1b[H": "home",
  "\x1b[1~": "home",
  "\x1bOH": "home",
  "\x1b[F": "end",
  "\x1b[4~": "end",
  "\x1bOF": "end",
  "\r": "enter",
  "\n": "enter",
  "\x1b": "escape",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x03": "ctrl-c",
  "\x1a": "ctrl-z",
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: keys send them
const KEY = /\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|./gsu;

/** Returns the keys in the input of a terminal in raw mode; one chunk may contain several. */
export function keysOf(input: string): string[] {
  return (input.match(KEY) ?? []).map((key) => NAMED[key] ?? key);
}

/** The part of a terminal's output that a screen needs. */
export interface ScreenOutput {
  write(text: string): unknown;
  readonly columns?: number;
  readonly rows?: number;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** The part of a terminal's input that a screen needs. */
export interface ScreenInput {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
  on(event: "data", listener: (data: Buffer) => void): unknown;
  off(event: "data", listener: (data: Buffer) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** Switches to the alternate screen, hides the cursor and turns off line wrapping. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const BEGIN_UPDATE = "\x1b[?2026h";
const END_UPDATE = "\x1b[?2026l";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** Cause of a live screen's end: the user quit, or a signal. */
export type End = "quit" | (typeof SIGNALS)[number];

/**
 * Lines on the alternate screen of a terminal. Restores the terminal however the process ends, except by SIGKILL.
 */
export class Screen {
  /** Resolves when the user quits or a signal arrives. */
  readonly ended: Promise<End>;
  readonly #output: ScreenOutput;
  readonly #input: ScreenInput;
  readonly #onKey: (key: string) => void;
  readonly #onResize: () => void;
  #end!: (end: End) => void;
  #shown: string[] = [];
  #isStale = false;
  #isOpen = false;

  constructor(
    output: ScreenOutput,
    input: ScreenInput,
    listeners: { onKey(key: string): void; onResize(): void },
  ) {
    this.#output = output;
    this.#input = input;
    this.#onKey = listeners.onKey;
    this.#onResize = listeners.onResize;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get rows(): number {
    return this.#output.rows ?? 24;
  }

  get columns(): number {
    return this.#output.columns ?? 80;
  }

  open(): void {
    if (this.#isOpen) return;
    for (const signal of SIGNALS) process.on(signal, this.#hear);
    // Runs also after an uncaught exception, before Node prints its stack.
    process.on("exit", this.#restore);
    process.on("SIGCONT", this.#enter);
    this.#output.on("resize", this.#resize);
    this.#input.on("data", this.#read);
    this.#enter();
  }

  quit(): void {
    this.#end("quit");
  }

  close(): void {
    this.#restore();
    for (const signal of SIGNALS) process.off(signal, this.#hear);
    process.off("exit", this.#restore);
    process.off("SIGCONT", this.#enter);
    this.#output.off("resize", this.#resize);
    this.#input.off("data", this.#read);
    this.#input.pause();
  }

  /** Draws these lines; writes only the changed ones. */
  draw(lines: string[]): void {
    if (!this.#isOpen) return;
    const frame = lines.slice(0, this.rows);
    let changes = this.#isStale ? "\x1b[2J" : "";
    // Clears a line before writing it: after a full line the cursor stands on the last character and would clear that.
    for (let row = 0; row < Math.max(frame.length, this.#shown.length); row++) {
      const line = frame[row] ?? "";
      if (line !== (this.#shown[row] ?? "")) changes += `\x1b[${row + 1};1H\x1b[K${line}\x1b[0m`;
    }
    this.#shown = frame;
    this.#isStale = false;
    if (changes !== "") this.#output.write(BEGIN_UPDATE + changes + END_UPDATE);
  }

  readonly #enter = (): void => {
    if (this.#isOpen) return;
    this.#isOpen = true;
    if (this.#input.isTTY) this.#input.setRawMode?.(true);
    this.#input.resume();
    this.#output.write(ENTER);
    this.#clear();
  };

  readonly #restore = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#output.write(END_UPDATE + LEAVE);
    if (this.#input.isTTY) this.#input.setRawMode?.(false);
  };

  readonly #hear = (signal: NodeJS.Signals): void => {
    this.#end(signal as End);
  };

  readonly #resize = (): void => {
    this.#clear();
  };

  readonly #read = (data: Buffer): void => {
    for (const key of keysOf(data.toString("utf8"))) {
      // In raw mode the terminal does not turn these keys into signals.
      if (key === "ctrl-c") this.#end("SIGINT");
      else if (key === "ctrl-z") this.#suspend();
      else this.#onKey(key);
    }
  };

  #suspend(): void {
    if (process.platform === "win32") return;
    this.#restore();
    process.kill(0, "SIGTSTP");
  }

  #clear(): void {
    if (!this.#isOpen) return;
    this.#shown = [];
    this.#isStale = true;
    this.#onResize();
  }
}
