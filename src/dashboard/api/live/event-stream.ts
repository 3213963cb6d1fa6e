/** Bytes that may wait for a client. One that reads more slowly is disconnected; it connects again by itself. */
const MOST_WAITING = 1024 * 1024;

/** Milliseconds that a browser waits before it connects again. */
const RECONNECT_AFTER = 3000;

/** The stream of events to one client (server-sent events). */
export class EventStream {
  readonly response: Response;
  readonly #encoder = new TextEncoder();
  readonly #ended: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;

  /** `ended` is called once, when either side has ended the stream. */
  constructor(ended: () => void) {
    this.#ended = ended;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#end();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MOST_WAITING }),
    );
    this.response = new Response(body, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        // nginx would otherwise hold events back until a buffer is full.
        "x-accel-buffering": "no",
      },
    });
    this.#write(`retry: ${RECONNECT_AFTER}\n\n`);
  }

  /** Sends an event. `data` is JSON on one line. */
  send(id: string, event: string, data: string): void {
    this.#write(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`);
  }

  /** Sends a sign of life. It has no id: a client that connects again need not know of it. */
  ping(): void {
    this.#write("event: ping\ndata: {}\n\n");
  }

  close(): void {
    const controller = this.#end();
    controller?.close();
  }

  #write(text: string): void {
    const controller = this.#controller;
    if (controller === null) return;
    if ((controller.desiredSize ?? 0) <= 0) {
      // An error discards what waits, which close() would keep in memory.
      this.#end();
      controller.error(new Error("The client reads too slowly."));
      return;
    }
    controller.enqueue(this.#encoder.encode(text));
  }

  #end(): ReadableStreamDefaultController<Uint8Array> | null {
    const controller = this.#controller;
    if (controller === null) return null;
    this.#controller = null;
    this.#ended();
    return controller;
  }
}
