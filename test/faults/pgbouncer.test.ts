import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { selected } from "../conformance/support/stores.ts";
import { askVersion } from "../servers/ask-version.ts";
import { findServer } from "../servers/find.ts";
import { freePort } from "../servers/free-port.ts";
import { findProgram } from "../servers/programs.ts";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";
import { STACK_TRACE } from "../support/start-child.ts";
import { Scene } from "./support/server-scene.ts";
import type { Act } from "./support/server-worker.ts";

const program = findProgram("pgbouncer");
const isSelected = selected.some(({ name }) => name === "postgres");
const RUNS = 300;

/** In transaction mode each transaction may use another session, and so may each statement outside of one. */
class Bouncer {
  readonly port: number;
  readonly #folder: string;
  readonly #process: ChildProcess;
  #said = "";

  private constructor(port: number, server: URL) {
    this.port = port;
    this.#folder = mkdtempSync(join(tmpdir(), "punctual-pgbouncer-"));
    const file = join(this.#folder, "pgbouncer.ini");
    const settings = {
      listen_addr: "127.0.0.1",
      listen_port: port,
      unix_socket_dir: "",
      auth_type: "any",
      pool_mode: "transaction",
      default_pool_size: 4,
      // A setting that the driver sends and a pooler cannot keep.
      ignore_startup_parameters: "extra_float_digits",
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const place = `host=${server.hostname} port=${server.port} user=${server.username}`;
    writeFileSync(file, `[databases]\n* = ${place}\n[pgbouncer]\n${lines.join("\n")}\n`);
    // It refuses to run as root.
    const runAs = findServer("postgres")?.runAs;
    if (runAs) for (const path of [this.#folder, file]) chownSync(path, runAs.uid, runAs.gid);
    this.#process = spawn(program!, [file], { cwd: "/", stdio: ["ignore", "pipe", "pipe"], ...runAs });
    for (const stream of [this.#process.stdout!, this.#process.stderr!]) {
      stream.on("data", (text) => (this.#said += text));
    }
  }

  static async before(server: string): Promise<Bouncer> {
    const bouncer = new Bouncer(await freePort(), new URL(server));
    await eventually(
      () => `PgBouncer to answer. It said:\n${bouncer.#said}`,
      () => askVersion("postgres", bouncer.url(server)).catch(() => null),
    );
    return bouncer;
  }

  url(server: string): string {
    const url = new URL(server);
    url.hostname = "127.0.0.1";
    url.port = String(this.port);
    return url.href;
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
    rmSync(this.#folder, { recursive: true });
  }
}

describe("PgBouncer in transaction mode", () => {
  if (!isSelected || !program) {
    test.todo("PostgreSQL is not selected, or pgbouncer is not here (Debian: apt-get install pgbouncer)");
    return;
  }
  let bouncer: Bouncer;
  let scene: Scene;
  beforeEach(async () => {
    const { url } = await sharedServer("postgres");
    bouncer = await Bouncer.before(url);
    scene = await Scene.on("postgres", url, { through: (direct) => bouncer.url(direct) });
  });
  afterEach(async () => {
    await scene.clear();
    await bouncer.stop();
  });

  test.each([
    { how: "told not to listen", query: "?notify=off" },
    { how: "listening for what nobody hears there", query: "" },
  ])("$how: workers find every run and execute it once", async ({ query }) => {
    const url = `${scene.url}${query}`;
    const names = ["first", "second"];
    const workers = names.map((name) => scene.worker(name, { url, ticks: true }));
    for (const by of names) await scene.journal.until({ what: "worker.started", by });
    const jobs = scene.punctual(url);
    const job = jobs.schedule<Act>("work", () => {}).concurrency(0);
    const runs = await job.dispatchMany(Array.from({ length: RUNS }, () => ({})));
    // One by one as well, so that the worker must notice each.
    for (let n = 0; n < 5; n++) {
      const run = await job.dispatch({}).unique(`key ${n}`);
      runs.push(run);
      await scene.journal.until({ what: "run.completed", run: run.id });
    }
    for (const { id } of runs) await scene.journal.until({ what: "run.completed", run: id });
    await scene.journal.until({ what: "run.completed", job: "beat" });
    const starts = scene.starts();
    expect(runs.map(({ id }) => starts.get(id))).toEqual(runs.map(() => 1));
    for (const worker of workers) {
      expect(worker.isAlive, worker.stderr).toBe(true);
      worker.signal("SIGTERM");
      expect(await worker.exit()).toEqual({ code: 0, signal: null });
      expect(worker.stderr).not.toMatch(STACK_TRACE);
    }
    expect(scene.errors()).toEqual([]);
  });
});
