import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Authority, type Certificate, Certificates } from "../servers/certificates.ts";
import { findServer } from "../servers/find.ts";
import type { ServerKind } from "../servers/server.ts";
import { startServer, type TestServer } from "../servers/start.ts";
import { onOwnServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

/** PostgreSQL names the certificate; the driver of MySQL and MariaDB reports only the connection. */
const FAILED = "TLS (certificate was rejected|connection to the database server failed)";

const settings = (kind: ServerKind, { file, key }: Certificate, { file: ca }: Authority) =>
  kind === "postgres"
    ? ["-c", "ssl=on", "-c", `ssl_cert_file=${file}`, "-c", `ssl_key_file=${key}`]
    : [`--ssl-cert=${file}`, `--ssl-key=${key}`, `--ssl-ca=${ca}`];

/** As in the guide. */
function parameters(kind: ServerKind, { file, pem }: Authority): string {
  return kind === "postgres"
    ? `sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`
    : `ssl=${encodeURIComponent(JSON.stringify({ ca: pem, verifyIdentity: true }))}`;
}

onOwnServer((kind) => {
  let certificates: Certificates;
  let ours: Authority;
  let others: Authority;
  let server: TestServer;
  let scene: Scene;

  beforeAll(async () => {
    certificates = new Certificates(findServer(kind)!.runAs);
    ours = certificates.authority("ours");
    others = certificates.authority("others");
    const certificate = certificates.server("server", "DNS:localhost", ours);
    server = await startServer(kind, { args: settings(kind, certificate, ours) });
    scene = await Scene.on(kind, server.url);
    if (kind !== "postgres") {
      await scene.sql("create user sealed identified by 'x' require ssl");
      await scene.sql(`grant all on ${scene.database}.* to sealed`);
    }
  });
  afterAll(async () => {
    await scene.clear();
    await server.stop();
    rmSync(certificates.folder, { recursive: true });
  });

  function url(authority: Authority | null): string {
    const plain = new URL(scene.direct);
    plain.hostname = "localhost";
    if (kind !== "postgres") Object.assign(plain, { username: "sealed", password: "x" });
    return authority ? `${plain.href}?${parameters(kind, authority)}` : plain.href;
  }

  async function dispatch(to: string): Promise<void> {
    await scene
      .punctual(to)
      .schedule("work", () => {})
      .dispatch();
  }

  test("a certificate of the authority that the URL names is accepted", async () => {
    await dispatch(url(ours));
    expect(await scene.sql("select name from punctual_runs")).toEqual([{ name: "work" }]);
    if (kind !== "postgres") return;
    const sealed = await scene.sql(
      "select distinct s.ssl from pg_stat_ssl s join pg_stat_activity a on a.pid = s.pid where a.application_name = 'punctual'",
    );
    expect(sealed).toEqual([{ ssl: true }]);
  });

  test("a certificate of another authority is refused", async () => {
    await expect(dispatch(url(others))).rejects.toThrow(
      expect.objectContaining({
        code: "DATABASE_UNAVAILABLE",
        message: expect.stringMatching(new RegExp(`${FAILED} \\(.*certificate`)),
      }),
    );
  });

  if (kind !== "postgres") {
    test("a connection without TLS is refused if the server requires TLS", async () => {
      await expect(dispatch(url(null))).rejects.toThrow(expect.objectContaining({ code: "DATABASE_ACCESS" }));
    });
  }

  test("a certificate for another host is refused", async () => {
    // The counts can be written only now.
    await scene.stopInstances();
    certificates.server("server", "DNS:elsewhere.example", ours);
    await server.restart();
    await expect(dispatch(url(ours))).rejects.toThrow(
      expect.objectContaining({
        code: "DATABASE_UNAVAILABLE",
        message: expect.stringMatching(new RegExp(`${FAILED} \\(.*localhost`)),
      }),
    );
  });
});
