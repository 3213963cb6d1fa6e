import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Punctual, type PunctualOptions } from "../../../src/index.ts";
import type { ServerKind } from "../../servers/server.ts";
import { eventually } from "../../support/eventually.ts";
import { Journal } from "../../support/journal.ts";
import type { Child } from "../../support/start-child.ts";
import { connect, type Direct, type Param } from "./direct.ts";
import type { WorkerConfig } from "./server-worker.ts";
import { spawnNode } from "./spawn-node.ts";

export interface Row {
  id: number;
  name: string;
  state: number;
  attempts: number;
  crashes: number;
  [column: string]: string | number | null;
}

export interface SceneOptions {
  /** Behind "create database <name>". */
  database?: string;
  /** The address for clients, if it is not the server's own. */
  through?: (url: string) => string;
}

/** A database on a server, a journal, and the processes on them. */
export class Scene {
  readonly kind: ServerKind;
  /** Directly to the server. */
  readonly direct: string;
  /** The route of the code under test. */
  readonly url: string;
  readonly database: string;
  readonly folder: string = mkdtempSync(join(tmpdir(), "punctual-faults-"));
  readonly journal: Journal = new Journal(join(this.folder, "journal.jsonl"));
  readonly #server: string;
  readonly #children: Child[] = [];
  readonly #instances: Punctual[] = [];
  #connection: Promise<Direct> | null = null;

  private constructor(kind: ServerKind, server: string, database: string, { through }: SceneOptions) {
    this.kind = kind;
    this.#server = server;
    this.database = database;
    const url = new URL(server);
    url.pathname = database;
    this.direct = url.href;
    this.url = through?.(this.direct) ?? this.direct;
  }

  static async on(kind: ServerKind, server: string, options: SceneOptions = {}): Promise<Scene> {
    const name = `faults_${randomBytes(8).toString("hex")}`;
    const admin = await connect(kind, server);
    await admin.sql(`create database ${name} ${options.database ?? ""}`);
    await admin.end();
    const scene = new Scene(kind, server, name, options);
    const installer = new Punctual(scene.direct, { logger: false });
    await installer.install();
    await installer.stop();
    return scene;
  }

  /** An instance in this process; it is stopped with the scene. */
  punctual(source: string | object = this.url, options: PunctualOptions = {}): Punctual {
    const jobs = new Punctual(source, { logger: false, ...options });
    this.#instances.push(jobs);
    return jobs;
  }

  worker(name: string, config: Partial<WorkerConfig> = {}, env: NodeJS.ProcessEnv = {}): Child {
    const whole: WorkerConfig = {
      name,
      kind: this.kind,
      url: this.url,
      direct: this.direct,
      journal: this.journal.path,
      ...config,
    };
    const script = fileURLToPath(new URL("server-worker.ts", import.meta.url));
    const child = spawnNode(name, [script, JSON.stringify(whole)], { cwd: this.folder, env });
    this.#children.push(child);
    return child;
  }

  /** Outside the code under test. Connects again after a lost connection. */
  async sql<Found = Row>(text: string, ...params: Param[]): Promise<Found[]> {
    const known = this.#connection !== null;
    this.#connection ??= connect(this.kind, this.direct);
    try {
      return await (await this.#connection).sql<Found>(text, ...params);
    } catch (error) {
      const lost = this.#connection;
      this.#connection = null;
      await (await lost.catch(() => null))?.end();
      if (known) return this.sql(text, ...params);
      throw error;
    }
  }

  history(): Promise<Row[]> {
    return this.sql("select * from punctual_history order by id");
  }

  /** Waits until no run is waiting or running. */
  async untilDrained(within?: number): Promise<void> {
    await eventually(
      "all runs to finish",
      async () => (await this.sql("select id from punctual_runs limit 1")).length === 0,
      within,
    );
  }

  /** How often each run was started, according to the journal. */
  starts(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { run } of this.journal.find({ what: "start" })) counts.set(run!, (counts.get(run!) ?? 0) + 1);
    return counts;
  }

  /** Errors that the instances emitted. */
  errors(): string[] {
    return this.journal.find({ what: "error" }).map(({ by, text }) => `${by}: ${text}`);
  }

  /** Stops them, which writes their counts. */
  async stopInstances(): Promise<void> {
    await Promise.all(this.#instances.map((jobs) => jobs.stop()));
  }

  async clear(): Promise<void> {
    for (const child of this.#children) child.signal("SIGKILL");
    await Promise.all(this.#children.map((child) => child.gone));
    await this.stopInstances();
    await (await this.#connection?.catch(() => null))?.end();
    const admin = await connect(this.kind, this.#server);
    if (this.kind === "postgres") await admin.sql(`drop database ${this.database} with (force)`);
    else {
      // A connection behind a proxy outlives its killed client, and its open transaction would block the drop.
      const open = await admin.sql<{ id: number }>(
        `select id from information_schema.processlist where db = '${this.database}'`,
      );
      for (const { id } of open) await admin.sql(`kill ${id}`).catch(() => {});
      await admin.sql(`drop database ${this.database}`);
    }
    await admin.end();
    this.journal.close();
    rmSync(this.folder, { recursive: true });
  }
}
