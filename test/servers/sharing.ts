import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { askVersion } from "./ask-version.ts";
import { givenUrl } from "./find.ts";
import { label, type ServerKind, serverKinds } from "./server.ts";
import { startServer, type TestServer } from "./start.ts";

export interface Shared {
  url: string;
  version: string;
}

/** One server of each kind for all tests of a run, started on first use. */
export class Sharing {
  readonly #asked = new Map<ServerKind, Promise<Shared>>();
  readonly #started: TestServer[] = [];
  readonly #http: Server = createServer(async (request, response) => {
    try {
      response.end(JSON.stringify(await this.#get(request.url!.slice(1) as ServerKind)));
    } catch (error) {
      response.statusCode = 500;
      response.end((error as Error).message);
    }
  });

  /** Returns the address at which tests request it. */
  async listen(): Promise<string> {
    this.#http.listen(0, "127.0.0.1").unref();
    await once(this.#http, "listening");
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#http.close();
    this.#http.closeAllConnections();
    await this.#tell();
    await Promise.all(this.#started.map((server) => server.stop()));
  }

  #get(kind: ServerKind): Promise<Shared> {
    if (!serverKinds.includes(kind)) throw new Error(`There is no server called ${kind}.`);
    const known = this.#asked.get(kind);
    if (known) return known;
    const asked = this.#find(kind);
    this.#asked.set(kind, asked);
    return asked;
  }

  async #find(kind: ServerKind): Promise<Shared> {
    const given = givenUrl(kind);
    if (given) return { url: given, version: await askVersion(kind, given) };
    const server = await startServer(kind);
    this.#started.push(server);
    return { url: server.url, version: server.version };
  }

  /** The servers that were used, for the summary of the tests. */
  async #tell(): Promise<void> {
    const path = process.env.PUNCTUAL_TEST_USED;
    if (!path) return;
    const asked = [...this.#asked].map(([kind, found]) =>
      found.then(
        ({ version }) => [`${label[kind]} ${version}`],
        () => [],
      ),
    );
    await writeFile(path, JSON.stringify((await Promise.all(asked)).flat()));
  }
}
