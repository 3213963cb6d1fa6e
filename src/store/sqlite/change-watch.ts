import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../time.ts";

/** Shortest time between two polls, in milliseconds. */
const SHORTEST = 1;

/**
 * Longest time between two polls while the file is watched, in milliseconds. Bounds the delay if the operating system
 * reports nothing.
 */
const LONGEST = 100;

/** Longest time between two polls while the file is not watched, or its events do not arrive, in milliseconds. */
const UNWATCHED = 10;

/** The time between two polls, as a fraction of the time since the last event. */
const PART = 1 / 8;

/** Changes without an event after which events count as not arriving: an event may arrive shortly after a poll. */
const MISSES = 3;

/** Time until a file that could not be watched is tried again, in milliseconds. */
const RETRY = 5000;

export interface WatchedFile {
  /** Path of the database file. */
  path: string;
  /** Reads `pragma data_version`, which changes when another connection has committed. */
  readVersion(): unknown;
  clock: Clock;
  onChange(): void;
  /** `fs.watch`, or a substitute. */
  watchFile?: typeof watch;
}

/**
 * Calls `onChange` after commits of other connections: SQLite has no notifications. An event of the WAL file tells that
 * another connection writes. It comes before the commit, which takes as long as the disk takes to sync. After an event,
 * this class therefore polls the version each millisecond, then at intervals that grow with the time since (note 41).
 */
export class ChangeWatch {
  readonly #file: WatchedFile;
  #seen: unknown;
  #watcher: FSWatcher | null = null;
  #lastTry = Number.NEGATIVE_INFINITY;
  #lastEvent = Number.NEGATIVE_INFINITY;
  /** Number of changes in a row without an event. */
  #misses = 0;
  #hasEvent = false;
  #isStopped = false;
  #cancel: () => void = () => {};
  /** Time of the next poll. */
  #due = Number.POSITIVE_INFINITY;

  constructor(file: WatchedFile) {
    this.#file = file;
    this.#poll();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#watcher?.close();
    this.#watcher = null;
  }

  #poll(): void {
    const now = this.#file.clock.monotonic();
    if (!this.#watcher && now - this.#lastTry >= RETRY) this.#watch(now);
    try {
      const version = this.#file.readVersion();
      const hasChanged = this.#seen !== undefined && version !== this.#seen;
      this.#seen = version;
      if (hasChanged) this.#changed();
    } catch {
      // The worker's next exchange fails in the same way and reports the error.
    }
    if (!this.#isStopped) this.#pollIn(this.#interval(now), now);
  }

  #changed(): void {
    this.#misses = this.#hasEvent ? 0 : this.#misses + 1;
    this.#hasEvent = false;
    this.#file.onChange();
  }

  #interval(now: number): number {
    const longest = this.#watcher && this.#misses < MISSES ? LONGEST : UNWATCHED;
    return Math.min(longest, Math.max(SHORTEST, (now - this.#lastEvent) * PART));
  }

  #pollIn(ms: number, now: number): void {
    this.#cancel();
    this.#due = now + ms;
    this.#cancel = this.#file.clock.after(ms, () => this.#poll(), { background: true });
  }

  #watch(now: number): void {
    this.#lastTry = now;
    const { path, watchFile = watch } = this.#file;
    try {
      const watcher = watchFile(`${path}-wal`, { persistent: false });
      this.#watcher = watcher;
      watcher.on("change", (kind) => (kind === "rename" ? this.#unwatch(watcher) : this.#noteEvent()));
      watcher.on("error", () => this.#unwatch(watcher));
    } catch {
      // No such file yet, or the system has no watches left.
    }
  }

  #noteEvent(): void {
    const now = this.#file.clock.monotonic();
    this.#hasEvent = true;
    this.#lastEvent = now;
    if (!this.#isStopped && this.#due - now > SHORTEST) this.#pollIn(SHORTEST, now);
  }

  /** Stops watching: the file was replaced, or the system reports no more. Polls often until the next try. */
  #unwatch(watcher: FSWatcher): void {
    watcher.close();
    if (this.#watcher === watcher) this.#watcher = null;
  }
}
