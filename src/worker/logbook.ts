import { isDataFault, isOutage } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import { storable } from "../run/failure.ts";
import { encodeLogData } from "../run/log-data.ts";
import type { ClaimedRun, NewLogLine, Store } from "../store/store.ts";
import type { Clock } from "../time.ts";

/** So many lines of an attempt are kept. */
export const MOST_LINES = 1000;

/** The longest message, in bytes. */
export const LONGEST_MESSAGE: number = 4 * 1024;

/** What waits in memory is no more than this while the database is away; in bytes, about. */
const MOST_WAITING: number = 16 * 1024 * 1024;

/** One statement writes no more lines, and no more bytes. */
const GROUP = 500;
const GROUP_BYTES: number = 1024 * 1024;

/** What a line takes besides its texts. */
const LINE = 100;

/** A group that is refused is halved to find the line: so many refusals are enough to find one. */
const REFUSALS = 20;

export interface LogbookParts {
  store(): Promise<Store>;
  clock: Clock;
  events: Emitter;
  logger: Logger;
}

/** A line on its way; its time is the database's, known when it is written. */
interface Line extends NewLogLine {
  run: ClaimedRun;
  /** By the monotonic clock. */
  saidAt: number;
  size: number;
}

/** Lines that could not be written, though the database is there. */
interface Refused {
  lines: Set<Line>;
  /** How many groups were refused. */
  times: number;
  error?: unknown;
}

const DUTY = "writing what handlers logged";

/** What handlers log gathers here and is written in groups: no handler waits for it, and none fails because of it. */
export class Logbook {
  readonly #parts: LogbookParts;
  readonly #keeps: boolean;
  #waiting: Line[] = [];
  /** How many lines of a try are not written yet. */
  readonly #unwritten = new Map<ClaimedRun, number>();
  #size = 0;
  #lastPosition = 0;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  /** Told once, until lines can be written again. */
  #isFailing = false;
  #isFull = false;

  /** `keeps` false: lines are only told of. */
  constructor(parts: LogbookParts, keeps: boolean) {
    this.#parts = parts;
    this.#keeps = keeps;
  }

  add(run: ClaimedRun, message: string, data: unknown): void {
    const { id, name, queue, attempts: attempt } = run;
    this.#parts.events.emit("run.logged", { id, name, queue, attempt, message, data });
    if (!this.#keeps || run.logged > MOST_LINES) return;
    if (run.logged < MOST_LINES) this.#keep(run, storable(message, LONGEST_MESSAGE), encodeLogData(data));
    else this.#keep(run, `(more was logged: the first ${MOST_LINES} lines of an attempt are kept)`, null);
  }

  /** Whether lines of this try are still to be written. */
  holds(run: ClaimedRun): boolean {
    return this.#unwritten.size > 0 && this.#unwritten.has(run);
  }

  /** Tries once to write all there is; never rejects. Who asks while it is under way waits for the next, which all share. */
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
    const size = LINE + Buffer.byteLength(message) + (data === null ? 0 : Buffer.byteLength(data));
    if (this.#size + size > MOST_WAITING) {
      if (!this.#isFull)
        this.#parts.logger.warn(
          "what handlers log comes faster than the database takes it, or the database is away: lines are left out",
        );
      this.#isFull = true;
      return;
    }
    const { id: runId, attempts: attempt } = run;
    const saidAt = this.#parts.clock.monotonic();
    this.#waiting.push({ run, runId, attempt, at: 0, position: 0, message, data, saidAt, size });
    this.#unwritten.set(run, (this.#unwritten.get(run) ?? 0) + 1);
    this.#size += size;
    run.logged++;
    if (!this.#isFailing && (this.#waiting.length >= GROUP || this.#size >= GROUP_BYTES)) void this.flush();
  }

  async #write(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    try {
      const store = await this.#parts.store();
      await this.#place(lines, store);
      const refused: Refused = { lines: new Set(), times: 0 };
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

  #keepRefused({ lines, error }: Refused): void {
    this.#waiting = [...lines, ...this.#waiting];
    this.#fail(error);
  }

  #fail(error: unknown): void {
    if (!this.#isFailing) this.#parts.events.failed(error, DUTY);
    this.#isFailing = true;
  }

  /** Once for each line: one that is sent again, because the answer was lost, is the same line. */
  async #place(lines: Line[], store: Store): Promise<void> {
    const now = await store.now();
    const moment = this.#parts.clock.monotonic();
    for (const line of lines) {
      if (line.position > 0) continue;
      line.at = Math.round(now - (moment - line.saidAt));
      line.position = Math.max(this.#lastPosition + 1, line.at * 1000);
      this.#lastPosition = line.position;
    }
  }

  /** Lines with a fault in their data are left out; those that are refused for another reason are kept for the next flush. */
  async #send(store: Store, lines: Line[], refused: Refused): Promise<void> {
    try {
      await store.log(lines);
    } catch (error) {
      if (isOutage(error)) throw error;
      if (lines.length > 1 && ++refused.times <= REFUSALS) {
        const half = Math.ceil(lines.length / 2);
        await this.#send(store, lines.slice(0, half), refused);
        await this.#send(store, lines.slice(half), refused);
      } else if (isDataFault(error)) {
        const which = lines.length === 1 ? `a line of run ${lines[0]!.runId}` : `${lines.length} lines`;
        this.#parts.events.report(error, `writing ${which} that handlers logged; left out`);
      } else {
        refused.error = error;
        for (const line of lines) refused.lines.add(line);
      }
    }
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
