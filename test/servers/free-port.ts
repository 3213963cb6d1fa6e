import { once } from "node:events";
import { createServer } from "node:net";

/** Below the range of ports for outgoing connections: a server that restarts finds its port free. */
const FIRST = 20_000;
const COUNT = 12_000;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const server = createServer().listen(port, "127.0.0.1");
    const free = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
