import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createConnection } from "mysql2/promise";
import { Punctual } from "../../../src/index.ts";
import { type Step, violations } from "../../conformance/support/limit-journal.ts";
import type { TestServer } from "../../servers/start.ts";
import { eventually } from "../../support/eventually.ts";
import { Journal } from "../../support/journal.ts";
import type { Child } from "../../support/start-child.ts";
import { ACCOUNTS, type ClusterJobs, defineClusterJobs, LIMITS } from "./cluster-jobs.ts";
import type { ClusterWorkerConfig } from "./cluster-worker.ts";
import { spawnNode } from "./spawn-node.ts";

/** A database on a cluster, a journal outside of it, and the processes on its nodes. */
export class ClusterScene {
  readonly nodes: TestServer[];
  readonly database: string = `cluster_${randomBytes(6).toString("hex")}`;
  readonly folder: string = mkdtempSync(join(tmpdir(), "punctual-cluster-"));
  readonly journal: Journal = new Journal(join(this.folder, "journal.jsonl"));
  readonly #catchUp: string;
  readonly #children: Child[] = [];
  readonly #instances: Punctual[] = [];

  private constructor(nodes: TestServer[], catchUp: string) {
    this.nodes = nodes;
    this.#catchUp = catchUp;
  }

  /** `catchUp` makes a session wait until its node has everything that was committed before. */
  static async on(nodes: TestServer[], catchUp: string): Promise<ClusterScene> {
    const scene = new ClusterScene(nodes, catchUp);
    await scene.#query(nodes[0]!.url, `create database ${scene.database}`);
    for (const { url } of nodes) {
      await eventually("the database on each node", () => scene.#has(url));
    }
    return scene;
  }

  url(node: number): string {
    const url = new URL(this.nodes[node]!.url);
    url.pathname = this.database;
    return url.href;
  }

  /** Creates the tables of Punctual, and those in which handlers count. */
  async install(): Promise<void> {
    const jobs = this.punctual(this.url(0));
    await jobs.install();
    await this.sql("create table accounts (id int primary key, total int not null)");
    await this.sql("create table transfers (run bigint primary key, account int not null)");
    for (let id = 0; id < ACCOUNTS; id++) await this.sql(`insert into accounts values (${id}, 0)`);
  }

  /** An instance in this process; it is stopped with the scene. */
  punctual(url: string): Punctual {
    const jobs = new Punctual(url, { logger: false });
    this.#instances.push(jobs);
    return jobs;
  }

  /** The jobs, defined by an instance that only dispatches. */
  jobsAt(url: string): ClusterJobs {
    return defineClusterJobs(this.punctual(url), () => {});
  }

  async worker(name: string, url: string): Promise<Child> {
    const config: ClusterWorkerConfig = { name, url, journal: this.journal.path };
    const script = fileURLToPath(new URL("cluster-worker.ts", import.meta.url));
    const child = spawnNode(name, [script, JSON.stringify(config)]);
    this.#children.push(child);
    await this.journal.until({ what: "worker.started", by: name });
    return child;
  }

  /** Sends one statement to a node that has caught up with the others. */
  sql<Row>(text: string, node = 0): Promise<Row[]> {
    return this.#query(this.url(node), text);
  }

  async untilDrained(): Promise<void> {
    const left = "select id from punctual_runs where name <> 'beat' limit 1";
    await eventually("all runs to finish", async () => (await this.sql(left)).length === 0, 200_000);
  }

  /** Runs of a job that did not start exactly once, according to the journal. */
  repeated(ids: number[]): number[] {
    const counts = new Map<number, number>();
    for (const { run } of this.journal.find({ what: "start" })) counts.set(run!, (counts.get(run!) ?? 0) + 1);
    return ids.filter((id) => counts.get(id) !== 1);
  }

  /** Moments at which more runs were under way than a limit allows. */
  excesses(): string[] {
    const steps = this.journal.entries.flatMap(({ what, run, job, key }): Step[] => {
      if (what !== "start" && what !== "end") return [];
      const lane = key ? `${job}|${key}` : job!;
      const queue = job === "narrow" ? "narrow" : "default";
      return [{ step: what === "start" ? 1 : -1, run: run!, name: job!, lane, queue }];
    });
    return violations(steps, LIMITS);
  }

  /** Errors that the workers emitted. */
  errors(): string[] {
    return this.journal.find({ what: "error" }).map(({ by, text }) => `${by}: ${text}`);
  }

  async clear(): Promise<void> {
    for (const child of this.#children) child.signal("SIGKILL");
    await Promise.all(this.#children.map((child) => child.gone));
    await Promise.all(this.#instances.map((jobs) => jobs.stop()));
    await this.#query(this.nodes[0]!.url, `drop database ${this.database}`);
    this.journal.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #has(url: string): Promise<boolean> {
    const rows = await this.#query(url, `show databases like '${this.database}'`);
    return rows.length > 0;
  }

  async #query<Row>(uri: string, text: string): Promise<Row[]> {
    const connection = await createConnection({ uri });
    try {
      await connection.query(this.#catchUp);
      const [rows] = await connection.query(text);
      return rows as Row[];
    } finally {
      connection.destroy();
    }
  }
}
