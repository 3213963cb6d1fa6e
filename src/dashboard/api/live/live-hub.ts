import { type Clock, SECOND } from "../../../time.ts";
import { HttpProblem } from "../../server/problem.ts";
import type { LiveEvents } from "../contract.ts";
import { EventStream } from "./event-stream.ts";

const MOST_CLIENTS = 100;
/** Proxies close silent connections after 30 seconds or more; a page notices a broken one after four pings. */
const PING_EVERY: number = 5 * SECOND;
/** A reload of the only open page must not stop and start the sampler. */
const STOPS_AFTER: number = 10 * SECOND;

/** Work that is needed only while someone watches. */
export interface WatchedWork {
  start(): void;
  stop(): void;
}

/** The latest event of a subject. Each replaces the one before, so that a client needs the latest only. */
interface Latest {
  position: number;
  event: keyof LiveEvents;
  data: string;
  /** Whether a client that connects for the first time gets it. */
  isCurrent: boolean;
}

/**
 * Sends events to all clients, and lets a client that connects again continue: ids are `epoch-position`, and it gets
 * the subjects that changed after its position.
 */
export class LiveHub {
  readonly #clock: Clock;
  readonly #watched: WatchedWork;
  readonly #clients = new Set<EventStream>();
  readonly #latest = new Map<string, Latest>();
  /** Differs between processes, whose positions have nothing to do with each other. */
  readonly #epoch: string = crypto.randomUUID().slice(0, 8);
  #position = 0;
  #isWatching = false;
  #cancelPing: (() => void) | null = null;
  #cancelStop: (() => void) | null = null;

  constructor(clock: Clock, watched: WatchedWork) {
    this.#clock = clock;
    this.#watched = watched;
  }

  /** Returns the response that streams events to a client until the signal aborts. */
  connect(lastEventId: string | null, signal: AbortSignal): Response {
    if (this.#clients.size >= MOST_CLIENTS) {
      throw new HttpProblem({
        code: "TOO_MANY_STREAMS",
        detail: `This process streams events to ${MOST_CLIENTS} clients, the most it allows.`,
        hint: "Close other pages of the dashboard, or poll GET /overview.",
        headers: { "retry-after": "30" },
      });
    }
    const stream = new EventStream(() => this.#left(stream));
    this.#clients.add(stream);
    this.#catchUp(stream, lastEventId);
    this.#watch();
    if (signal.aborted) stream.close();
    else signal.addEventListener("abort", () => stream.close(), { once: true });
    return stream.response;
  }

  /** Sends the latest event of a subject. `isCurrent`: clients that connect later for the first time get it too. */
  publish<Event extends keyof LiveEvents>(
    subject: string,
    event: Event,
    data: LiveEvents[Event],
    { isCurrent = true }: { isCurrent?: boolean } = {},
  ): void {
    const latest = { position: ++this.#position, event, data: JSON.stringify(data), isCurrent };
    this.#latest.set(subject, latest);
    for (const stream of this.#clients) this.#send(stream, latest);
  }

  forget(subject: string): void {
    this.#latest.delete(subject);
  }

  close(): void {
    for (const stream of this.#clients) stream.close();
    this.#cancelStop?.();
    this.#stopWatching();
  }

  #catchUp(stream: EventStream, lastEventId: string | null): void {
    const [epoch, position] = lastEventId?.split("-") ?? [];
    const after = epoch === this.#epoch && /^\d+$/.test(position ?? "") ? Number(position) : null;
    const missed = [...this.#latest.values()].filter((latest) =>
      after === null ? latest.isCurrent : latest.position > after,
    );
    for (const latest of missed.sort((a, b) => a.position - b.position)) this.#send(stream, latest);
  }

  #send(stream: EventStream, { position, event, data }: Latest): void {
    stream.send(`${this.#epoch}-${position}`, event, data);
  }

  #watch(): void {
    this.#cancelStop?.();
    this.#cancelStop = null;
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#ping();
    this.#watched.start();
  }

  #ping(): void {
    this.#cancelPing = this.#clock.after(
      PING_EVERY,
      () => {
        for (const stream of this.#clients) stream.ping();
        this.#ping();
      },
      { background: true },
    );
  }

  #left(stream: EventStream): void {
    this.#clients.delete(stream);
    if (this.#clients.size > 0) return;
    this.#cancelStop?.();
    this.#cancelStop = this.#clock.after(STOPS_AFTER, () => this.#stopWatching(), { background: true });
  }

  #stopWatching(): void {
    if (!this.#isWatching) return;
    this.#isWatching = false;
    this.#cancelPing?.();
    this.#watched.stop();
  }
}
