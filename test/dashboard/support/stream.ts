import { eventually } from "../../support/eventually.ts";
import type { Client } from "./api.ts";

interface Received {
  id: string;
  event: string;
  data: unknown;
}

/** The events that a client has received. */
export interface Stream {
  response: Response;
  events: Received[];
  pings(): number;
  ended(): boolean;
  close(): Promise<void>;
  /** Waits for an event of this name; `index` counts those before it. */
  next(event: string, index?: number): Promise<Received>;
}

/** Opens the event stream of a client, and collects its events. */
export async function listen(client: Client, headers: Record<string, string> = {}): Promise<Stream> {
  const abort = new AbortController();
  const response = await client.request("/events", { headers, signal: abort.signal });
  const events: Received[] = [];
  let pings = 0;
  let ended = false;
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const read = async () => {
    for (let text = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) break;
      const blocks = (text + value).split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
        const event = field("event");
        if (event === "ping") pings++;
        else if (event) events.push({ id: field("id")!, event, data: JSON.parse(field("data")!) });
      }
    }
  };
  void read()
    .catch(() => {})
    .finally(() => {
      ended = true;
    });
  return {
    response,
    events,
    pings: () => pings,
    ended: () => ended,
    close: () => reader.cancel().catch(() => {}),
    next: (event: string, index = 0) =>
      eventually(`event ${index} of ${event}`, () => events.filter((one) => one.event === event)[index]),
  };
}
