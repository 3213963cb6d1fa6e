import { type Clock, systemClock } from "../../time.ts";
import { plain, type Stream } from "../output/output.ts";
import { countdown, grouped, rough } from "./formats.ts";
import { type Icons, iconsFor } from "./icons.ts";
import { cut, widthOf } from "./width.ts";

/** Milliseconds between updates on a terminal: ten per second look smooth. */
const REDRAW_EVERY = 100;
/** Milliseconds between lines when the output is not a terminal. */
const LINE_EVERY = 10_000;
const LONGEST_BAR = 24;
const SHORTEST_BAR = 6;

interface Progress {
  title: string;
  done: number;
  /** Null: unknown. */
  total: number | null;
  /** Milliseconds since the start. */
  elapsed: number;
}

/** `Deleting  ▇▇▇▇▇▇░░  78 %  1,204,000/1,540,000  22k/s  eta 0:15`, in at most `width` columns. */
export function barLine(progress: Progress, icons: Icons, width: number | null): string {
  const { done, total, elapsed } = progress;
  const rate = elapsed > 0 ? (done * 1000) / elapsed : 0;
  const figures =
    total === null ? [grouped(done)] : [`${percent(done, total)} %`, `${grouped(done)}/${grouped(total)}`];
  if (rate > 0) figures.push(`${rough(rate)}/s`);
  if (rate > 0 && total !== null && done < total)
    figures.push(`eta ${countdown(((total - done) * 1000) / rate)}`);
  const end = figures.join("  ");
  const title = plain(progress.title);
  if (width === null) return `${title}  ${end}`;
  const room = width - widthOf(title) - widthOf(end) - 4;
  if (total === null || room < SHORTEST_BAR) return cut(`${title}  ${end}`, width, icons.ellipsis);
  const length = Math.min(LONGEST_BAR, room);
  const full = total === 0 ? length : Math.round((Math.min(done, total) / total) * length);
  return `${title}  ${icons.full.repeat(full)}${icons.empty.repeat(length - full)}  ${end}`;
}

/** `▇▇▇░░░░░  40 %`, with a bar of `length` columns. */
export function progressBar(
  { done, of }: { done: number; of: number },
  icons: Icons,
  length: number,
): string {
  const part = of === 0 ? 1 : Math.min(1, Math.max(0, done / of));
  const full = Math.round(part * length);
  return `${icons.full.repeat(full)}${icons.empty.repeat(length - full)}  ${Math.floor(part * 100)} %`;
}

function percent(done: number, total: number): string {
  return String(total === 0 ? 100 : Math.floor((Math.min(done, total) / total) * 100)).padStart(3);
}

/** Progress of a long command: one line that is redrawn on a terminal, otherwise a new line every ten seconds. */
export class Bar {
  readonly #stream: Stream;
  readonly #clock: Clock;
  readonly #icons: Icons;
  readonly #startedAt: number;
  #progress: Progress;
  #writtenAt: number;
  #isOpen = false;

  constructor(
    stream: Stream,
    title: string,
    options: { total?: number | null; clock?: Clock; icons?: Icons } = {},
  ) {
    this.#stream = stream;
    this.#clock = options.clock ?? systemClock;
    this.#icons = options.icons ?? iconsFor();
    this.#startedAt = this.#clock.monotonic();
    this.#writtenAt = this.#stream.isTTY ? Number.NEGATIVE_INFINITY : this.#startedAt;
    this.#progress = { title, done: 0, total: options.total ?? null, elapsed: 0 };
  }

  update(done: number, more: { total?: number | null; title?: string } = {}): void {
    const now = this.#clock.monotonic();
    this.#progress = { ...this.#progress, ...more, done, elapsed: now - this.#startedAt };
    if (now - this.#writtenAt < (this.#stream.isTTY ? REDRAW_EVERY : LINE_EVERY)) return;
    this.#writtenAt = now;
    this.#write();
  }

  /** Draws the final state and ends the line. Later calls do nothing. */
  end(): void {
    if (!this.#isOpen) return;
    this.#progress.elapsed = this.#clock.monotonic() - this.#startedAt;
    if (this.#stream.isTTY) {
      this.#write();
      this.#stream.write("\n");
    }
    this.#isOpen = false;
  }

  #write(): void {
    this.#isOpen = true;
    if (!this.#stream.isTTY) {
      this.#stream.write(`${barLine(this.#progress, this.#icons, null)}\n`);
      return;
    }
    // Some terminals wrap as soon as the last column is written.
    const width = (this.#stream.columns ?? 80) - 1;
    this.#stream.write(`\r${barLine(this.#progress, this.#icons, width)}\x1b[K`);
  }
}
