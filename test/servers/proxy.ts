import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface CutOptions {
  /** Whether the server still gets the client's message; the client never gets the answer. */
  deliver: boolean;
}

interface Pair {
  client: Socket;
  server: Socket;
  /** Discards the server's further output. */
  mute: boolean;
}

interface Trigger {
  matches(sent: Buffer): boolean;
  fire(pair: Pair, sent: Buffer): void;
}

/** Listens on a free port of 127.0.0.1, and passes everything on to the server at `port`. */
export async function startProxy(port: number, host = "127.0.0.1"): Promise<TestProxy> {
  const proxy = new TestProxy(port, host);
  await proxy.listen();
  return proxy;
}

/** A proxy between a client and a server that simulates faults of a network. */
export class TestProxy {
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();
  #trigger: Trigger | undefined;
  #paused = false;
  #refusing = false;
  #delay = 0;
  /** Each new client is connected to the first one, which then becomes the last. */
  #targets: { port: number; host: string }[];

  constructor(port: number, host: string) {
    this.#targets = [{ port, host }];
    this.#listener = createServer({ noDelay: true, pauseOnConnect: true }, (client) => this.#join(client));
  }

  async listen(): Promise<void> {
    this.#listener.listen(0, "127.0.0.1");
    await once(this.#listener, "listening");
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** A server's URL with the port of this proxy. */
  url(server: string): string {
    const url = new URL(server);
    url.hostname = "127.0.0.1";
    url.port = String(this.port);
    return url.href;
  }

  /** Connects new clients to another server of this host. */
  redirect(port: number): void {
    this.spread([port]);
  }

  /** Connects new clients to these servers of this host in turn. */
  spread(ports: number[]): void {
    const { host } = this.#targets[0]!;
    this.#targets = ports.map((port) => ({ port, host }));
  }

  /** Ends every connection at once, on both sides. New ones are accepted. */
  cut(): void {
    for (const pair of this.#pairs) sever(pair);
  }

  /** Passes nothing on, without an error: as when a cable is unplugged. */
  pause(): void {
    this.#paused = true;
    for (const pair of this.#pairs) hold(pair);
  }

  /** Resets every connection, and every new one at once: as when the server is down. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  /** Delays everything from now on by `ms` milliseconds in each direction. */
  delay(ms: number): void {
    this.#delay = ms;
  }

  resume(): void {
    this.#paused = false;
    this.#refusing = false;
    for (const pair of this.#pairs) release(pair);
  }

  /**
   * Cuts the connection on which a client sends something that matches, once; resolves when it is cut. With `deliver`
   * that is when the server has processed the message.
   */
  cutWhen(matches: (bytesFromClient: Buffer) => boolean, { deliver }: CutOptions): Promise<void> {
    return this.#when(matches, (pair, sent, done) => {
      const finish = () => {
        sever(pair);
        done();
      };
      if (!deliver) return finish();
      pair.mute = true;
      pair.server.once("close", finish);
      // An orderly end: after a reset the server would not read what it has received.
      pair.server.end(sent);
    });
  }

  /** Passes nothing on from the moment at which a client sends something that matches; resolves then. */
  pauseWhen(matches: (bytesFromClient: Buffer) => boolean): Promise<void> {
    return this.#when(matches, (_pair, _sent, done) => {
      this.pause();
      done();
    });
  }

  async close(): Promise<void> {
    const closed = once(this.#listener, "close");
    this.#listener.close();
    this.cut();
    await closed;
  }

  #join(client: Socket): void {
    if (this.#refusing) {
      client.on("error", () => {}).resetAndDestroy();
      return;
    }
    const target = this.#targets.shift()!;
    this.#targets.push(target);
    const server = connect({ ...target, noDelay: true });
    const pair: Pair = { client, server, mute: false };
    this.#pairs.add(pair);
    client.on("data", (sent) => this.#fromClient(pair, sent));
    server.on("data", (sent) => {
      if (!pair.mute) this.#pass(client, sent);
    });
    client.on("end", () => server.end());
    server.on("end", () => client.end());
    for (const socket of [client, server]) {
      // Passes the kind of end on from one side to the other.
      socket.on("error", () => sever(pair));
      socket.on("close", () => {
        sever(pair);
        this.#pairs.delete(pair);
      });
    }
    if (this.#paused) hold(pair);
    else release(pair);
  }

  #pass(to: Socket, sent: Buffer): void {
    if (this.#delay === 0) to.write(sent);
    else setTimeout(() => to.destroyed || to.write(sent), this.#delay);
  }

  #when(
    matches: (bytesFromClient: Buffer) => boolean,
    act: (pair: Pair, sent: Buffer, done: () => void) => void,
  ): Promise<void> {
    return new Promise((done) => {
      this.#trigger = { matches, fire: (pair, sent) => act(pair, sent, done) };
    });
  }

  #fromClient(pair: Pair, sent: Buffer): void {
    const trigger = this.#trigger;
    if (!trigger?.matches(sent)) {
      this.#pass(pair.server, sent);
      return;
    }
    this.#trigger = undefined;
    trigger.fire(pair, sent);
  }
}

function hold({ client, server }: Pair): void {
  client.pause();
  server.pause();
}

function release({ client, server }: Pair): void {
  client.resume();
  server.resume();
}

/** A reset, so that neither side takes it for an orderly end. */
function sever({ client, server }: Pair): void {
  for (const socket of [client, server]) if (!socket.destroyed) socket.resetAndDestroy();
}
