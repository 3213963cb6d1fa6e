import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startProxy, type TestProxy } from "./proxy.ts";

let got: string;
let server: Server;
let proxy: TestProxy;
const clients: Socket[] = [];

/** Answers each message with the same text in capitals. */
beforeEach(async () => {
  got = "";
  server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      got += data;
      socket.write(String(data).toUpperCase());
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy = await startProxy((server.address() as AddressInfo).port);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await proxy.close();
  server.close();
});

async function client(): Promise<Socket> {
  const socket = connect(proxy.port, "127.0.0.1").on("error", () => {});
  clients.push(socket);
  await once(socket, "connect");
  return socket;
}

/** Not by `once`, which rejects for an error event. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.on("close", () => resolve()));
}

async function ask(socket: Socket, text: string): Promise<string> {
  const answer = once(socket, "data");
  socket.write(text);
  return String((await answer)[0]);
}

test("passes everything on, in both directions", async () => {
  const [one, two] = [await client(), await client()];
  expect(await ask(one, "one")).toBe("ONE");
  expect(await ask(two, "two")).toBe("TWO");
  expect(proxy.connections).toBe(2);
});

test("returns a server's URL with its own port", () => {
  expect(proxy.url("postgres://me:secret@db.example:5432/app?x=1")).toBe(
    `postgres://me:secret@127.0.0.1:${proxy.port}/app?x=1`,
  );
});

test("cut: every connection ends, and new ones are accepted", async () => {
  const sockets = [await client(), await client()];
  for (const socket of sockets) await ask(socket, "hello");
  const closed = sockets.map(closing);
  proxy.cut();
  await Promise.all(closed);
  expect(await ask(await client(), "again")).toBe("AGAIN");
});

test("pause: nothing passes until resume", async () => {
  const socket = await client();
  await ask(socket, "before");
  proxy.pause();
  const answer = ask(socket, "meanwhile");
  // A connection through another proxy, to give it time.
  const other = await startProxy((server.address() as AddressInfo).port);
  const direct = connect(other.port, "127.0.0.1");
  expect(await ask(direct, "direct")).toBe("DIRECT");
  expect(got).toBe("beforedirect");
  proxy.resume();
  expect(await answer).toBe("MEANWHILE");
  direct.destroy();
  await other.close();
});

test("cut on the next message, before it is delivered", async () => {
  const [one, two] = [await client(), await client()];
  const cut = proxy.cutWhen((sent) => sent.includes("commit"), { deliver: false });
  expect(await ask(one, "begin")).toBe("BEGIN");
  const closed = closing(one);
  one.write("commit");
  await Promise.all([cut, closed]);
  expect(got).toBe("begin");
  expect(await ask(two, "commit")).toBe("COMMIT");
});

test("cut on the next message, after it was delivered and before the answer", async () => {
  const socket = await client();
  const cut = proxy.cutWhen((sent) => sent.includes("commit"), { deliver: true });
  expect(await ask(socket, "begin")).toBe("BEGIN");
  let answered = "";
  socket.on("data", (data) => (answered += data));
  const closed = closing(socket);
  socket.write("commit");
  await Promise.all([cut, closed]);
  expect(got).toBe("begincommit");
  expect(answered).toBe("");
});
