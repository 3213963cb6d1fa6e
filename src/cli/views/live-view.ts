import { type Clock, sleep, systemClock, toMilliseconds } from "../../time.ts";
import type { Cli } from "../cli.ts";
import { Exit, exitCodeOfSignal } from "../output/exit-codes.ts";
import { plain } from "../output/output.ts";
import { duration } from "../render/formats.ts";
import { type Page, pageOf } from "../render/page.ts";
import { type End, Screen } from "../render/screen.ts";
import { cut, pad } from "../render/width.ts";
import type { Subject } from "./details.ts";

/** Lines of a screen: a fixed head and foot, and a body that scrolls between them. */
export interface Picture {
  head: string[];
  body: string[];
  foot: string[];
  /** The run or job of each line of the body; undefined: lines cannot be opened. */
  subjects?: readonly Subject[];
}

export interface LiveSource<Snapshot> {
  /** Milliseconds between refreshes; longer if a refresh is slow. */
  every: number;
  take(): Promise<Snapshot>;
  picture(snapshot: Snapshot, page: Page): Picture;
  /** Returns the lines of an opened subject. */
  details?(subject: Subject, page: Page): Promise<string[]>;
  /** Returns the JSON document of a refresh, printed when stdout is not a terminal. */
  json(snapshot: Snapshot): object;
  /** Text about additional keys, such as `s sort: name`. */
  help?(): string;
  onKey?(key: string): void;
}

const EVERY = 2000;
/** Pause after a refresh, as a multiple of its duration: refreshing uses at most a fifth of the database's time. */
const REST = 4;

/** Returns the interval of `--watch=2s` in milliseconds; two seconds without a value. */
export function watchEvery(given: string | true): number {
  return given === true ? EVERY : Math.max(100, toMilliseconds(given, "--watch"));
}

/** Refreshes until the user quits: a live screen on a terminal, otherwise one line of JSON for each refresh. */
export async function watch<Snapshot>(
  cli: Cli,
  source: LiveSource<Snapshot>,
  clock: Clock = systemClock,
): Promise<void> {
  if (cli.output.isJson || !cli.output.stdout.isTTY) return printSnapshots(cli, source, clock);
  // An immediate error is printed normally, not on a screen that disappears with it.
  const first = await source.take();
  const live = new LiveScreen(cli, source, clock, first);
  const end = await live.run();
  if (end !== "quit") throw new Exit(exitCodeOfSignal(end));
}

async function printSnapshots<Snapshot>(
  cli: Cli,
  source: LiveSource<Snapshot>,
  clock: Clock,
): Promise<never> {
  for (;;) {
    const began = clock.monotonic();
    const snapshot = await source.take();
    cli.output.jsonLine({ v: 1, ...source.json(snapshot) });
    await sleep(clock, Math.max(source.every, (clock.monotonic() - began) * REST));
  }
}

class LiveScreen<Snapshot> {
  readonly #source: LiveSource<Snapshot>;
  readonly #clock: Clock;
  readonly #page: Page;
  readonly #screen: Screen;
  readonly #done = new AbortController();
  #snapshot: Snapshot;
  #trouble: string | null = null;
  #isPaused = false;
  /** Aborted by the key `r`, to refresh without waiting. */
  #hurry = new AbortController();
  /** The search text; lines without it are hidden; null: all lines are visible. */
  #sought: string | null = null;
  #isTyping = false;
  /** The line of the list that Enter opens. */
  #mark = 0;
  #opened: { subject: Subject; lines: string[] } | null = null;
  #first = 0;
  #fits = 1;

  constructor(cli: Cli, source: LiveSource<Snapshot>, clock: Clock, first: Snapshot) {
    this.#source = source;
    this.#clock = clock;
    this.#page = pageOf(cli);
    this.#snapshot = first;
    this.#screen = new Screen(process.stdout, process.stdin, {
      onKey: (key) => this.#press(key),
      onResize: () => this.#show(),
    });
  }

  async run(): Promise<End> {
    this.#screen.ended.then(() => this.#done.abort());
    this.#screen.open();
    try {
      let took = 0;
      while (!this.#done.signal.aborted) {
        const woken = AbortSignal.any([this.#done.signal, this.#hurry.signal]);
        await sleep(this.#clock, Math.max(this.#source.every, took * REST), woken);
        const isAsked = this.#hurry.signal.aborted;
        if (isAsked) this.#hurry = new AbortController();
        const began = this.#clock.monotonic();
        if (!this.#isPaused || isAsked) await Promise.race([this.#look(), this.#screen.ended]);
        took = this.#clock.monotonic() - began;
        if (!this.#done.signal.aborted) this.#show();
      }
    } finally {
      this.#screen.close();
    }
    return this.#screen.ended;
  }

  /** Refreshes. An unavailable database is reported on the last line, and the next refresh tries again. */
  async #look(): Promise<void> {
    await this.#try(async () => {
      this.#snapshot = await this.#source.take();
      if (this.#opened) await this.#load(this.#opened.subject);
    });
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#trouble = null;
    } catch (error) {
      this.#trouble = error instanceof Error ? error.message : String(error);
    }
  }

  async #load(subject: Subject): Promise<void> {
    const lines = await this.#source.details!(subject, this.#page);
    this.#opened = { subject, lines };
  }

  /** Returns the content of the screen: the opened subject, or the list filtered by the search. */
  #picture(): Picture {
    if (this.#opened) return { head: [], body: this.#opened.lines, foot: [] };
    const { body, subjects, ...rest } = this.#source.picture(this.#snapshot, this.#page);
    const isShown = (line: string) => this.#sought === null || contains(line, this.#sought);
    return {
      ...rest,
      body: body.filter(isShown),
      ...(subjects &&
        this.#source.details && { subjects: subjects.filter((_, index) => isShown(body[index]!)) }),
    };
  }

  #show(): void {
    const { head, body, foot, subjects } = this.#picture();
    const { rows, columns } = this.#screen;
    this.#fits = Math.max(1, rows - head.length - foot.length - 1);
    if (subjects) {
      this.#mark = Math.max(0, Math.min(this.#mark, body.length - 1));
      this.#first = Math.max(this.#mark - this.#fits + 1, Math.min(this.#first, this.#mark));
    }
    this.#first = Math.max(0, Math.min(this.#first, body.length - this.#fits));
    const shown = body.slice(this.#first, this.#first + this.#fits);
    const marked = this.#mark - this.#first;
    if (subjects && shown[marked] !== undefined) shown[marked] = inverse(shown[marked], columns);
    const filler = Array.from({ length: Math.max(0, this.#fits - shown.length) }, () => "");
    const above = [...head, ...shown, ...(shown.length < body.length ? [] : foot), ...filler];
    const lines = [...above, ...(shown.length < body.length ? foot : [])];
    this.#screen.draw([...lines, this.#lastLine(body.length, columns)]);
  }

  #lastLine(total: number, columns: number): string {
    const { icons } = this.#page;
    if (this.#trouble !== null) {
      return this.#page.paint("red", cut(`${icons.failed} ${plain(this.#trouble)}`, columns, icons.ellipsis));
    }
    const last = Math.min(total, this.#first + this.#fits);
    if (this.#isTyping) return cut(`/${plain(this.#sought ?? "")}`, columns, icons.ellipsis);
    const ofList = [
      ...(this.#source.details ? ["Enter open"] : []),
      this.#sought === null ? "/ find" : `/${plain(this.#sought)}`,
      ...(this.#source.help ? [this.#source.help()] : []),
    ];
    const keys = [
      ...(total > this.#fits ? [`${icons.updown} ${this.#first + 1}-${last} of ${total}`] : []),
      "q quit",
      this.#isPaused ? "PAUSED: p resume" : "p pause",
      ...(this.#opened ? ["Esc back"] : ofList),
      `every ${duration(this.#source.every).replace(".0s", "s")}`,
    ];
    return this.#page.paint("dim", cut(keys.join("  "), columns, icons.ellipsis));
  }

  #press(key: string): void {
    if (this.#isTyping) this.#type(key);
    else this.#act(key);
    if (!this.#done.signal.aborted) this.#show();
  }

  /** Edits the search text. Named keys, such as `up`, are ignored. */
  #type(key: string): void {
    const text = this.#sought ?? "";
    if (key === "enter" || key === "escape") {
      this.#isTyping = false;
      if (key === "escape" || text === "") this.#sought = null;
    } else if (key === "backspace") this.#sought = [...text].slice(0, -1).join("");
    else if ([...key].length === 1 && key >= " ") this.#sought = text + key;
  }

  #act(key: string): void {
    const steps: Record<string, number> = {
      up: -1,
      k: -1,
      down: 1,
      j: 1,
      "page-up": -this.#fits,
      "page-down": this.#fits,
      home: Number.NEGATIVE_INFINITY,
      end: Number.POSITIVE_INFINITY,
    };
    if (key === "q") this.#screen.quit();
    else if (key === "p") this.#isPaused = !this.#isPaused;
    else if (key === "r") this.#hurry.abort();
    else if (key in steps) this.#move(steps[key]!);
    else if (this.#opened) {
      if (key === "escape" || key === "enter" || key === "backspace") this.#opened = null;
    } else if (key === "escape") this.#screen.quit();
    else if (key === "enter") this.#open();
    else if (key === "/") {
      this.#isTyping = true;
      this.#sought ??= "";
    } else this.#source.onKey?.(key);
  }

  #move(step: number): void {
    if (this.#picture().subjects) this.#mark = Math.max(0, this.#mark + step);
    else this.#first = Math.max(0, this.#first + step);
  }

  #open(): void {
    const subject = this.#picture().subjects?.[this.#mark];
    if (!subject) return;
    void this.#try(async () => {
      await this.#load(subject);
      this.#first = 0;
    }).then(() => {
      if (!this.#done.signal.aborted) this.#show();
    });
  }
}

/** Whether a line contains the text, ignoring colours and case. */
function contains(line: string, sought: string): boolean {
  return plain(line).toLowerCase().includes(sought.toLowerCase());
}

/** Inverts a line over the whole width. Drops its colours, because a colour's end would also end the inversion. */
function inverse(line: string, columns: number): string {
  return `\x1b[7m${pad(plain(line), columns, "left")}\x1b[27m`;
}
