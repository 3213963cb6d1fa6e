import { renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fakeClock, findFaketime } from "../../servers/faketime.ts";
import type { Journal, Note } from "../../support/journal.ts";
import { type Child, startChild } from "../../support/start-child.ts";
import type { ActorConfig, Role } from "./actor.ts";
import { isNext } from "./load.ts";

const SCRIPT = fileURLToPath(new URL("actor.ts", import.meta.url));

/** Most of the time of a start is spent on sources that are stripped of their types. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL("../../../node_modules/.cache/compiled", import.meta.url));

/** Requests of one producer before its numbers meet those of the next. */
const NUMBERS = 1_000_000;

export interface FleetParts {
  /** Its processes use them in turn. */
  urls: string[];
  /** Whether the clocks of its processes can be set; the folder of the journal has a file for each. */
  hasClocks: boolean;
  /** Fraction of the runs of `free` that take seconds. */
  long: number;
  journal: Journal;
  note: Note;
  random(): number;
}

/** One process of the fleet. */
export interface Member {
  role: Role;
  name: string;
  child: Child;
  /** Sets its wall clock this many seconds off; null: it cannot be set. */
  setClock: ((seconds: number) => void) | null;
}

/** The processes of a campaign. */
export class Fleet {
  readonly #parts: FleetParts;
  readonly #members = new Set<Member>();
  #started = 0;
  #version = 0;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  start(role: Role): Member {
    const { urls, journal, random, long } = this.#parts;
    const number = ++this.#started;
    const name = `${role} ${number}`;
    const config: ActorConfig = {
      role,
      name,
      url: urls[number % urls.length]!,
      journal: journal.path,
      seed: Math.floor(random() * 2 ** 31),
      version: this.#version,
      from: number * NUMBERS,
      long,
    };
    const { env, setClock } = this.#clock(number);
    const child = startChild(SCRIPT, [JSON.stringify(config)], {
      ipc: true,
      env: { NODE_COMPILE_CACHE, ...env },
    });
    const member = { role, name, child, setClock };
    this.#members.add(member);
    return member;
  }

  #clock(number: number): { env: NodeJS.ProcessEnv } & Pick<Member, "setClock"> {
    const library = this.#parts.hasClocks && findFaketime();
    if (!library) return { env: {}, setClock: null };
    const file = join(dirname(this.#parts.journal.path), `clock-${number}`);
    const setClock = (seconds: number) => {
      // At once: a process may read it at any moment.
      writeFileSync(`${file}.new`, `${seconds < 0 ? "" : "+"}${seconds}s\n`);
      renameSync(`${file}.new`, file);
    };
    setClock(0);
    return { env: fakeClock(library, { file }), setClock };
  }

  alive(...roles: Role[]): Member[] {
    return [...this.#members].filter(({ role, child }) => roles.includes(role) && child.isAlive);
  }

  /** Kills a process, and starts another of its role. */
  async replace(member: Member): Promise<void> {
    await this.kill(member);
    this.start(member.role);
  }

  async kill(member: Member): Promise<void> {
    this.#members.delete(member);
    // Before the signal: when this process writes the next line, another worker may have taken the runs over.
    this.#parts.note("kill", { text: member.name });
    member.child.signal("SIGKILL");
    await member.child.gone;
  }

  /** Deploys the next version, one worker after the other. One producer keeps the version before. */
  async deploy(): Promise<void> {
    this.#version++;
    const [producer] = this.alive("producer");
    const members = [...this.alive("worker", "supervisor"), ...(producer ? [producer] : [])];
    for (const member of members) {
      await this.#end(member);
      this.start(member.role);
    }
  }

  /** Deploys the version that renames jobs everywhere, if another one runs: old code does not know the new names. */
  async deployNames(): Promise<void> {
    if (isNext(this.#version)) return;
    this.#version++;
    await Promise.all(
      this.alive("worker", "supervisor").map(async (member) => {
        await this.#end(member);
        this.start(member.role);
      }),
    );
  }

  /** Ends processes in good order; returns a sentence for each that did not end well. */
  async end(...roles: Role[]): Promise<string[]> {
    const faults = await Promise.all(this.alive(...roles).map((member) => this.#end(member)));
    return faults.flatMap((fault) => fault ?? []);
  }

  async #end(member: Member): Promise<string | null> {
    this.#members.delete(member);
    member.child.signal("SIGCONT");
    member.child.signal("SIGTERM");
    const { code, signal } = await member.child.gone;
    if (code === 0) return null;
    // A process that has not loaded its program yet has no handler for the signal.
    if (signal === "SIGTERM" && this.#parts.journal.find({ what: "began", by: member.name }).length === 0)
      return null;
    return `${member.name} ended with ${signal ?? code}: ${member.child.stderr.slice(-500)}`;
  }

  /** Replaces processes that have died: a run that kills its process takes a worker along. */
  refill(wanted: Partial<Record<Role, number>>): void {
    for (const member of [...this.#members]) {
      if (member.child.isAlive) continue;
      this.#parts.note("killed", { text: member.name });
      this.#members.delete(member);
    }
    for (const [role, count] of Object.entries(wanted) as [Role, number][]) {
      for (let missing = count - this.alive(role).length; missing > 0; missing--) this.start(role);
    }
  }

  clear(): void {
    for (const { child } of this.#members) child.signal("SIGKILL");
  }
}
