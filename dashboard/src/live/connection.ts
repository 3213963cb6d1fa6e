/** Functions that a connection gets from the browser, or from a test. */
export interface Surroundings {
  /** Opens an event stream, and calls `heard` with every event. Returns a function that closes it. */
  open(handlers: { opened(): void; heard(): void; failed(): void }): () => void;
  /** Reads once what the stream would send. Rejects if the server cannot be reached. */
  poll(signal: AbortSignal): Promise<void>;
  /** Calls back later. Returns a function that cancels the call. */
  later(milliseconds: number, call: () => void): () => void;
  /** Milliseconds of a clock that only moves forward. */
  now(): number;
}

export type ConnectionStatus = "live" | "reconnecting" | "offline" | "paused";

/** Failures of the stream before the page polls, and of polls before it says "offline". */
const MOST_FAILURES = 2;
const RECONNECT_AFTER = 1_000;
const POLL_EVERY = 3_000;
/** A slow server is polled less often: the pause after a poll is this multiple of its duration. */
const REST = 4;
const LONGEST_REST = 30_000;
/**
 * A stream without an event for this long is broken, although the browser has not noticed: the server sends a ping
 * every five seconds.
 */
const LONGEST_SILENCE = 20_000;
/** While polling, the stream is tried again after this time. */
const STREAM_AGAIN = 60_000;

/**
 * Keeps the page up to date: by one event stream, or by polls where streams do not pass. While paused or hidden it
 * sends no request at all.
 */
export class Connection {
  status: ConnectionStatus = "reconnecting";
  polling = false;
  readonly #surroundings: Surroundings;
  readonly #changed: () => void;
  #failures = 0;
  #paused = false;
  #hidden = false;
  #stop: () => void = () => {};
  #streamAgainAt = 0;

  constructor(surroundings: Surroundings, changed: () => void) {
    this.#surroundings = surroundings;
    this.#changed = changed;
  }

  start(): void {
    this.#connect();
  }

  set paused(paused: boolean) {
    if (this.#paused === paused) return;
    this.#paused = paused;
    this.#settle();
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Tries again at once: the network has changed. */
  reconnect(): void {
    if (!this.#paused && !this.#hidden) this.#settle();
  }

  set hidden(hidden: boolean) {
    if (this.#hidden === hidden) return;
    this.#hidden = hidden;
    this.#settle();
  }

  #settle(): void {
    this.#stop();
    this.#stop = () => {};
    this.#failures = 0;
    if (this.#paused) this.#set("paused");
    else if (!this.#hidden) this.#connect();
  }

  #connect(): void {
    this.polling = false;
    if (this.status !== "live") this.#set("reconnecting");
    let cancelWatch = () => {};
    const failed = () => {
      this.#stop();
      this.#failures += 1;
      this.#set("reconnecting");
      if (this.#failures >= MOST_FAILURES) this.#startPolling();
      else this.#stop = this.#surroundings.later(RECONNECT_AFTER, () => this.#connect());
    };
    const heard = () => {
      cancelWatch();
      cancelWatch = this.#surroundings.later(LONGEST_SILENCE, failed);
    };
    const close = this.#surroundings.open({
      opened: () => {
        this.#failures = 0;
        heard();
        this.#set("live");
      },
      heard,
      failed,
    });
    this.#stop = () => {
      cancelWatch();
      close();
    };
  }

  #startPolling(): void {
    this.polling = true;
    this.#failures = 0;
    this.#streamAgainAt = this.#surroundings.now() + STREAM_AGAIN;
    this.#poll();
  }

  /** Polls, and plans the next poll once this one has ended: polls of a slow server do not pile up. */
  #poll(): void {
    const abort = new AbortController();
    const began = this.#surroundings.now();
    this.#stop = () => abort.abort();
    const next = (rest: number) => {
      if (abort.signal.aborted) return;
      this.#stop = this.#surroundings.later(rest, () => {
        if (this.#surroundings.now() >= this.#streamAgainAt) this.#connect();
        else this.#poll();
      });
    };
    this.#surroundings.poll(abort.signal).then(
      () => {
        if (abort.signal.aborted) return;
        this.#failures = 0;
        this.#set("live");
        next(restAfter(this.#surroundings.now() - began));
      },
      () => {
        if (abort.signal.aborted) return;
        this.#failures += 1;
        this.#set(this.#failures >= MOST_FAILURES ? "offline" : "reconnecting");
        next(POLL_EVERY);
      },
    );
  }

  #set(status: ConnectionStatus): void {
    this.status = status;
    this.#changed();
  }
}

function restAfter(duration: number): number {
  return Math.min(LONGEST_REST, Math.max(POLL_EVERY, duration * REST));
}
