import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { freePort } from "../servers/free-port.ts";
import { label, type ServerKind } from "../servers/server.ts";
import { startServer, type TestServer } from "../servers/start.ts";
import { connect } from "./support/direct.ts";
import { onOwnServer } from "./support/kinds.ts";
import { ReplicatedPair } from "./support/replicated-pair.ts";

function open(url: string): Punctual {
  const jobs = new Punctual(url, { logger: false });
  onTestFinished(() => jobs.stop());
  return jobs;
}

async function dispatch(jobs: Punctual): Promise<number> {
  return (await jobs.define("job", () => {}).dispatch()).id;
}

onOwnServer(() => {
  test("the writer is found among the hosts, and found again where it has moved", async () => {
    const pair = await ReplicatedPair.start({ synchronous: true });
    const jobs = pair.punctual();
    await dispatch(jobs);
    const [standby, primary] = [pair.standby.port, pair.primary.port].map((port) => `127.0.0.1:${port}`);
    expect((await jobs.inspect()).hosts).toEqual([
      { host: standby, role: "read-only", reason: null },
      { host: primary, role: "writer", reason: null },
    ]);
    await pair.primary.kill();
    await pair.promote();
    await dispatch(jobs);
    expect((await jobs.inspect()).hosts).toEqual([
      { host: standby, role: "writer", reason: null },
      { host: primary, role: "unreachable", reason: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  test("a standby fails with its own error, and can still be read", async () => {
    const pair = await ReplicatedPair.start({ synchronous: false });
    await pair.untilReplicated();
    const jobs = pair.punctual(pair.standby.url);
    expect((await jobs.status()).jobs).toEqual([]);
    expect(await jobs.inspect()).toMatchObject({ readOnly: true, unsafe: null });
    const refusal = { code: "DATABASE_READ_ONLY" };
    await expect(dispatch(jobs)).rejects.toMatchObject(refusal);
    await expect(pair.punctual(pair.standby.url).forever()).rejects.toMatchObject(refusal);
  });

  test("hosts that do not answer are named", async () => {
    const [one, other] = [await freePort(), await freePort()];
    const jobs = open(`postgres://postgres@127.0.0.1:${one},127.0.0.1:${other}/postgres`);
    await expect(jobs.status()).rejects.toMatchObject({
      code: "DATABASE_UNAVAILABLE",
      message: expect.stringMatching(`127.0.0.1:${one} does not answer .*127.0.0.1:${other} does not answer`),
    });
  });
}, ["postgres"]);

/** Two servers without replication, of which one is read-only at a time. */
class Two {
  readonly servers: TestServer[] = [];
  readonly kind: ServerKind;

  constructor(kind: ServerKind) {
    this.kind = kind;
  }

  async start(): Promise<void> {
    for (const _ of [1, 2]) {
      const server = await startServer(this.kind);
      onTestFinished(() => server.stop());
      this.servers.push(server);
      await this.sql(
        server,
        // A superuser may write even to a read-only server.
        "create user 'app'@'%' identified by 'secret'",
        "create database jobs",
        "grant all on jobs.* to 'app'@'%'",
      );
      const installer = new Punctual(this.url(server), { logger: false });
      await installer.install();
      await installer.stop();
    }
  }

  url(...servers: TestServer[]): string {
    const hosts = servers.map(({ port }) => `127.0.0.1:${port}`);
    return `${this.kind}://app:secret@${hosts.join()}/jobs`;
  }

  async setReadOnly(server: TestServer, on: boolean): Promise<void> {
    const variable = this.kind === "mysql" && on ? "super_read_only" : "read_only";
    await this.sql(server, `set global ${variable} = ${on ? 1 : 0}`);
  }

  async runs(server: TestServer): Promise<number> {
    const direct = await connect(this.kind, server.url);
    const [{ n }] = (await direct.sql<{ n: number }>("select count(*) as n from jobs.punctual_runs")) as [
      { n: number },
    ];
    await direct.end();
    return n;
  }

  async sql(server: TestServer, ...statements: string[]): Promise<void> {
    const direct = await connect(this.kind, server.url);
    for (const statement of statements) await direct.sql(statement);
    await direct.end();
  }
}

onOwnServer(
  (kind) => {
    describe(`the hosts of ${label[kind]}`, () => {
      test("that is not read-only is used, also after the roles have changed", async () => {
        const two = new Two(kind);
        await two.start();
        const [one, other] = two.servers as [TestServer, TestServer];
        await two.setReadOnly(one, true);
        const jobs = open(two.url(one, other));
        await dispatch(jobs);
        expect([await two.runs(one), await two.runs(other)]).toEqual([0, 1]);
        expect((await jobs.inspect()).hosts.map(({ role }) => role)).toEqual(["read-only", "writer"]);
        await two.setReadOnly(other, true);
        const waiting = dispatch(jobs);
        await two.setReadOnly(one, false);
        await waiting;
        expect([await two.runs(one), await two.runs(other)]).toEqual([1, 1]);
        expect((await jobs.inspect()).hosts.map(({ role }) => role)).toEqual(["writer", "read-only"]);
      });

      test("that are all read-only fail with an error that names them", async () => {
        const two = new Two(kind);
        await two.start();
        for (const server of two.servers) await two.setReadOnly(server, true);
        await expect(dispatch(open(two.url(...two.servers)))).rejects.toMatchObject({
          code: "DATABASE_READ_ONLY",
          message: expect.stringMatching(/127\.0\.0\.1:\d+ is read-only, 127\.0\.0\.1:\d+ is read-only/),
        });
        const [one] = two.servers as [TestServer];
        const refusal = { code: "DATABASE_READ_ONLY" };
        await expect(dispatch(open(two.url(one)))).rejects.toMatchObject(refusal);
        await expect(open(two.url(one)).forever()).rejects.toMatchObject(refusal);
      }, 120_000);
    });
  },
  ["mariadb", "mysql"],
);
