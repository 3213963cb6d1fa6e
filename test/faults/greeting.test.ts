import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { selected } from "../conformance/support/stores.ts";
import { sharedServer } from "../servers/shared.ts";

function packet(kind: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
}

/** A greeting and an error in one packet, as from a server that crashes at that moment. */
const GREETING = Buffer.concat([
  packet("R", Buffer.alloc(4)),
  packet("Z", Buffer.from("I")),
  packet("E", Buffer.from("SFATAL\0C57P02\0Mterminating connection due to unexpected postmaster exit\0\0")),
]);

describe("a PostgreSQL server that ends while it accepts a connection", () => {
  if (!selected.some(({ name }) => name === "postgres")) {
    test.todo("PostgreSQL is not selected");
    return;
  }
  let listener: Server;
  let url: string;
  let greeted: number;
  beforeEach(async () => {
    const server = (await sharedServer("postgres")).url;
    const { hostname, port } = new URL(server);
    greeted = 0;
    listener = createServer((client) => {
      client.on("error", () => {});
      if (greeted < 3) {
        greeted++;
        client.once("data", () => client.end(GREETING));
        return;
      }
      const real = connect(Number(port), hostname).on("error", () => client.destroy());
      client.pipe(real).pipe(client);
    }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const through = new URL(server);
    through.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
    url = through.href;
  });
  afterEach(() => void listener.close());

  // An error without a listener would end a process, and fails this test.
  test.each(["a URL", "a pool of the caller's"])("by %s is retried", async (how) => {
    const pool = how === "a URL" ? null : new pg.Pool({ connectionString: url });
    const jobs = new Punctual(pool ?? url, { logger: false });
    const report = await jobs.install({ dryRun: true });
    expect(report.to).toBeGreaterThan(0);
    expect(greeted).toBe(3);
    await jobs.stop();
    await pool?.end();
  });
});
