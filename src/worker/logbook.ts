import { bisect } from "../bisect.ts";
import { isDataFault, isOutage } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import { storableText } from "../run/failure.ts";
import { encodeLogData } from "../run/log-data.ts";
import type { ClaimedRun, NewLogLine, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";

/** Most lines that are kept of one attempt. */
export const MOST_LINES = 1000;

/** Longest message, in bytes. */
export const LONGEST_MESSAGE: number = 4 * 1024;

/** Most bytes, roughly, that wait in memory while the database is unavailable. */
const MOST_WAITING: number = 16 * 1024 * 1024;

/** Most lines and bytes of one statement. */
const GROUP = 500;
const GROUP_BYTES: number = 1024 * 1024;

/** Bytes of a line beside its texts. */
const LINE_OVERHEAD = 100;

/** Most groups that one flush halves after a refusal: enough to find one refused line. */
const REFUSALS = 20;

export interface LogbookParts {
  openStore(): Promise<Store>;
  clock: Clock;
  events: Emitter;
  logger: Logger;
}

/** A line that is not written yet. Its time is the database's, which is known when the line is written. */
interface Line extends NewLogLine {
  run: ClaimedRun;
  /** Monotonic. */
  loggedAt: number;
  size: number;
}

/** Lines that the database refused for another reason than their data. */
interface RefusedLines {
  lines: Set<Line>;
  /** Number of refused groups. */
  times: number;
  error?: unknown;
}

const DUTY = "writing log lines of handlers";

/** Writes the lines that handlers log, in groups. No handler waits for these writes or fails because of them. */
export class Logbook {
  readonly #parts: LogbookParts;
  readonly #keeps: boolean;
  #waiting: Line[] = [];
  /** Number of unwritten lines of an attempt. */
  readonly #unwritten = new Map<ClaimedRun, number>();
  /** Bytes of all unwritten lines, roughly. */
  #size = 0;
  #lastPosition = 0;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  /** Whether the last flush failed. It is reported once, until lines can be written again. */
  #isFailing = false;
  #isFull = false;

  /** `keeps` false: lines are emitted as events, but not written. */
  constructor(parts: LogbookParts, keeps: boolean) {
    this.#parts = parts;
    this.#keeps = keeps;
  }

  add(run: ClaimedRun, message: string, data: unknown): void {
    const { id, name, queue, attempts: attempt } = run;
    this.#parts.events.emit("run.logged", { id, name, queue, attempt, message, data });
    if (!this.#keeps || run.logged > MOST_LINES) return;
    if (run.logged < MOST_LINES) this.#keep(run, storableText(message, LONGEST_MESSAGE), encodeLogData(data));
    else this.#keep(run, `(more lines were logged: the first ${MOST_LINES} of an attempt are kept)`, null);
  }

  /** Whether lines of this attempt are not written yet. */
  holds(run: ClaimedRun): boolean {
    return this.#unwritten.size > 0 && this.#unwritten.has(run);
  }

  /** Tries once to write all lines. Never rejects. Concurrent callers share the next flush. */
  flush(): Promise<void> {
    if (this.#next) return this.#next;
    if (this.#waiting.length === 0) return this.#writing;
    this.#next = this.#writing.then(() => {
      this.#next = null;
      return this.#write();
    });
    this.#writing = this.#next;
    return this.#next;
  }

  #keep(run: ClaimedRun, message: string, data: string | null): void {
    const size = LINE_OVERHEAD + Buffer.byteLength(message) + (data === null ? 0 : Buffer.byteLength(data));
    if (this.#size + size > MOST_WAITING) {
      if (!this.#isFull)
        this.#parts.logger.warn(
          "handlers log faster than the database can write, or the database is unavailable: log lines are dropped",
        );
      this.#isFull = true;
      return;
    }
    const { id: runId, attempts: attempt } = run;
    const loggedAt = this.#parts.clock.monotonic();
    this.#waiting.push({ run, runId, attempt, at: 0, position: 0, message, data, loggedAt, size });
    this.#unwritten.set(run, (this.#unwritten.get(run) ?? 0) + 1);
    this.#size += size;
    run.logged++;
    if (!this.#isFailing && (this.#waiting.length >= GROUP || this.#size >= GROUP_BYTES)) void this.flush();
  }

  async #write(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    try {
      const store = await this.#parts.openStore();
      await this.#stamp(lines, store);
      const refused: RefusedLines = { lines: new Set(), times: 0 };
      while (lines.length > 0) {
        const group = firstGroup(lines);
        await this.#send(store, group, refused);
        lines.splice(0, group.length);
        this.#forget(group.filter((line) => !refused.lines.has(line)));
      }
      if (refused.lines.size > 0) return this.#keepRefused(refused);
      this.#isFailing = false;
      this.#isFull = false;
      this.#parts.events.succeeded(DUTY);
    } catch (error) {
      this.#waiting = [...lines, ...this.#waiting];
      this.#fail(error);
    }
  }

  #keepRefused({ lines, error }: RefusedLines): void {
    this.#waiting = [...lines, ...this.#waiting];
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (!this.#isFailing) this.#parts.events.failed(error, DUTY);
    this.#isFailing = true;
  }

  /** Gives each new line its time and position. A line that is sent again keeps them, and so is written once. */
  async #stamp(lines: Line[], store: Store): Promise<void> {
    const now = await store.now();
    const moment = this.#parts.clock.monotonic();
    for (const line of lines) {
      if (line.position > 0) continue;
      line.at = Math.round(now - (moment - line.loggedAt));
      line.position = Math.max(this.#lastPosition + 1, line.at * 1000);
      this.#lastPosition = line.position;
    }
  }

  /**
   * Drops lines whose data the database rejects. Keeps lines that are refused for another reason for the next flush.
   */
  async #send(store: Store, lines: Line[], refused: RefusedLines): Promise<void> {
    await bisect(lines, {
      send: (part) => store.log(part),
      divides: (error) => !isOutage(error) && ++refused.times <= REFUSALS,
      refused: (part, error) => {
        if (isOutage(error)) throw error;
        if (isDataFault(error)) {
          const which =
            part.length === 1 ? `a log line of run ${part[0]!.runId}` : `${part.length} log lines`;
          this.#parts.events.report(error, `writing ${which}, which the database rejected; dropped`);
        } else {
          refused.error = error;
          for (const line of part) refused.lines.add(line);
        }
      },
    });
  }

  #forget(lines: Line[]): void {
    for (const { run, size } of lines) {
      this.#size -= size;
      const left = this.#unwritten.get(run)! - 1;
      if (left > 0) this.#unwritten.set(run, left);
      else this.#unwritten.delete(run);
    }
  }
}

function firstGroup(lines: Line[]): Line[] {
  let size = 0;
  let end = 0;
  while (end < Math.min(lines.length, GROUP) && size < GROUP_BYTES) size += lines[end++]!.size;
  return lines.slice(0, end);
}
