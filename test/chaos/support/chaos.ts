import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Definition, Punctual, type SuperviseOptions } from "../../../src/index.ts";
import { eventually } from "../../support/eventually.ts";
import { Journal, type Note, noteIn } from "../../support/journal.ts";
import { type Child, startChild } from "../../support/start-child.ts";
import { triesIn } from "./checker.ts";
import { defineLoad, dispatchWave, type LoadName, type Task } from "./load.ts";
import type { ProgramConfig } from "./program.ts";

const never = () => {
  throw new Error("this process does not work");
};

/** A database, a supervised program on it, and a killer of its processes. */
export class Chaos {
  readonly folder: string = mkdtempSync(join(tmpdir(), "punctual-chaos-"));
  readonly journal: Journal = new Journal(join(this.folder, "journal.jsonl"));
  readonly asked: number[] = [];
  readonly jobs: Punctual;
  readonly job: Record<LoadName, Definition<Task>>;
  readonly #note: Note = noteIn(this.journal.path, "killer");
  readonly #config: Omit<ProgramConfig, "name">;
  readonly #random: () => number;
  #supervisor: Child | null = null;
  #started = 0;

  constructor(
    url: string,
    options: SuperviseOptions,
    {
      lease,
      random = Math.random,
      ...more
    }: Pick<ProgramConfig, "lease" | "dieWhenGiven"> & { random?(): number },
  ) {
    this.#config = { url, journal: this.journal.path, lease, options, ...more };
    this.#random = random;
    this.jobs = new Punctual(url, { logger: false, defaults: { lease } });
    this.job = defineLoad(this.jobs, never, never);
  }

  start(): void {
    const config: ProgramConfig = { ...this.#config, name: `supervisor ${++this.#started}` };
    const script = fileURLToPath(new URL("program.ts", import.meta.url));
    this.#supervisor = startChild(script, [JSON.stringify(config)], { cwd: this.folder });
  }

  async dispatch(size: number): Promise<void> {
    const runs = await dispatchWave(this.job, this.#random, size);
    this.asked.push(...runs.map(({ id }) => id));
  }

  /** Children that take runs. */
  children(): number[] {
    const pids = new Set<number>();
    for (const { what, ids, pid } of this.journal.entries) {
      if (what === "child.started" && pid === this.#supervisor!.pid) pids.add(ids![0]!);
      else if (what === "child.exited" || what === "kill") pids.delete(ids![0]!);
    }
    return [...pids];
  }

  /** Children of any supervisor that have not been seen to end. */
  #unseen(): Set<number> {
    const pids = new Set<number>();
    for (const { what, ids } of this.journal.entries) {
      if (what === "child.started") pids.add(ids![0]!);
      else if (what === "child.exited" || what === "kill" || what === "gone") pids.delete(ids![0]!);
    }
    return pids;
  }

  async untilChildren(count: number): Promise<void> {
    await eventually(
      () => `${count} children; the supervisor says: ${this.#supervisor!.stderr}`,
      () => this.children().length >= count,
      60_000,
    );
  }

  /** Some of the children that are executing runs. */
  untilBusy(): Promise<number[]> {
    return eventually("a child with runs", () => {
      const open = new Set(
        triesIn(this.journal.entries).flatMap((one) => (one.to < Infinity ? [] : [one.pid])),
      );
      const busy = this.children().filter((pid) => open.has(pid));
      return busy.length > 0 && busy;
    });
  }

  /** One of them, at random. */
  async killOne(): Promise<number> {
    const children = await this.untilBusy();
    const pid = children[Math.floor(this.#random() * children.length)]!;
    this.#kill(pid, "kill");
    return pid;
  }

  /** Returns the children that it leaves behind. */
  killSupervisor(): number[] {
    const orphans = this.children();
    this.#kill(this.#supervisor!.pid, "kill supervisor");
    return orphans;
  }

  /** Waits until processes have ended by themselves. */
  async untilGone(pids: number[]): Promise<void> {
    const left = new Set(pids);
    await eventually(
      () => `the processes ${[...left]} to end`,
      () => {
        for (const pid of left) {
          if (isAlive(pid)) continue;
          this.#note("gone", { ids: [pid] });
          left.delete(pid);
        }
        return left.size === 0;
      },
    );
  }

  async stop(): Promise<void> {
    this.#supervisor!.signal("SIGTERM");
    await this.#supervisor!.exit();
  }

  async clear(): Promise<void> {
    this.#supervisor?.signal("SIGKILL");
    // Without a fault there is none.
    for (const pid of this.#unseen()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    await this.#supervisor?.gone;
    await this.jobs.stop();
    this.journal.close();
    rmSync(this.folder, { recursive: true });
  }

  #kill(pid: number, what: "kill" | "kill supervisor"): void {
    process.kill(pid, "SIGKILL");
    this.#note(what, { ids: [pid] });
  }
}

/** An ended process may wait until the process that adopted it reaps it. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = `/proc/${pid}/stat`;
    return !existsSync(stat) || !readFileSync(stat, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
