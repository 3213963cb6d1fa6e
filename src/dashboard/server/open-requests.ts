/** One request that a route is answering. */
export interface AnswerContext {
  /** Aborts when the client disconnects or the dashboard closes. */
  readonly signal: AbortSignal;
  /** Returns the response with a body that ends when the signal aborts. */
  stream(response: Response): Response;
}

/**
 * The requests under way, each with a signal of its own. Not `AbortSignal.any()` with one signal for the dashboard: a
 * signal that lives long collects what depends on it.
 */
export class OpenRequests {
  readonly #controllers = new Set<AbortController>();
  #closed = false;

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Aborts every request under way. */
  close(): void {
    this.#closed = true;
    for (const controller of this.#controllers) controller.abort();
    this.#controllers.clear();
  }

  /** Calls `answer`, and keeps its request open until it returns or, if it streams, until its stream ends. */
  async run(request: Request, answer: (answering: AnswerContext) => Promise<Response>): Promise<Response> {
    const controller = new AbortController();
    this.#controllers.add(controller);
    const abort = () => controller.abort();
    if (request.signal.aborted) abort();
    else request.signal.addEventListener("abort", abort, { once: true });
    const end = () => {
      this.#controllers.delete(controller);
      request.signal.removeEventListener("abort", abort);
    };
    let isStream = false;
    const stream = (response: Response) => {
      if (response.body === null) return response;
      isStream = true;
      const { status, statusText, headers } = response;
      const cancel = () => {
        abort();
        end();
      };
      return new Response(endedBy(controller.signal, response.body, { end, cancel }), {
        status,
        statusText,
        headers,
      });
    };
    try {
      return await answer({ signal: controller.signal, stream });
    } finally {
      if (!isStream) end();
    }
  }
}

/** Returns a stream that ends when the signal aborts. `cancel`: its reader has gone. */
function endedBy(
  signal: AbortSignal,
  body: ReadableStream<Uint8Array>,
  { end, cancel }: { end(): void; cancel(): void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const stop = () => {
          reader.cancel().catch(() => {});
          end();
          try {
            controller.close();
          } catch {
            // It had ended before.
          }
        };
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop, { once: true });
      },
      async pull(controller) {
        const { done, value } = await reader.read().catch((error) => {
          end();
          throw error;
        });
        if (signal.aborted) return;
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      },
      cancel,
    },
    // Reads on demand only, so that a slow client slows the source down.
    { highWaterMark: 0 },
  );
}
