import { type ChildProcess, fork } from "node:child_process";
import type { Readable } from "node:stream";
import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Result } from "../worker/executor.ts";
import { Pace } from "../worker/pace.ts";
import type { Assignment } from "./assignment.ts";
import { INSTANCE, NUMBER } from "./child-identity.ts";
import { Mailbox, type ToChild, type ToParent, toMessages } from "./messages.ts";
import { youngGenerationOptions } from "./young-generation.ts";

/** Interval between two pings. */
export const PING_EVERY = 1000;

/** A child without an answer for this long is busy with code that blocks its event loop. */
const SILENT_AFTER = 100;

/**
 * Longest wait for messages and standard error after the process has exited: its own children may keep the pipe open.
 */
const LAST_WORDS = 500;

export type ChildState = "starting" | "ready" | "retiring" | "gone";

export interface ChildParts {
  number: number;
  generation: number;
  instanceNumber: number;
  clock: Clock;
  heard(child: Child, message: ToParent): void;
  /** Called when the child answers again after a silence. */
  awake(): void;
  gone(child: Child): void;
}

/** A child process, as its parent sees it. */
export class Child {
  readonly number: number;
  readonly generation: number;
  readonly pid: number;
  readonly startedAt: number;
  state: ChildState = "starting";
  digest = 0;
  /** Whether it was told to exit. */
  isLeaving = false;
  /** Why it is to be replaced as soon as it is ready. */
  unwanted: string | null = null;
  memory: number | null = null;
  /** Monotonic; null: it has not been ready yet. */
  readyAt: number | null = null;
  /** Number of runs that were assigned to it. */
  taken = 0;
  /** Number of its runs that have a result. */
  ended = 0;
  exit: { code: number | null; signal: string | null } = { code: null, signal: null };
  /** Runs that it executes, by ticket. */
  readonly executions: Map<number, Assignment> = new Map<number, Assignment>();
  /** Runs ended by their crashes whose hooks it was told to call, by ticket. */
  readonly crashed: Map<number, ClaimedRun> = new Map<number, ClaimedRun>();
  /** Names of jobs that it does not define although another child does. */
  readonly lacks: Set<string> = new Set<string>();
  /** Why the supervisor killed it, and whether its runs are spared the charge of a crash; null: it was not killed. */
  killed: { why: string; spares: boolean } | null = null;
  readonly #verdicts = new Map<Assignment, Result>();
  readonly #clock: Clock;
  readonly #process: ChildProcess;
  readonly #mailbox: Mailbox<ToChild>;
  readonly #words: LastWords;
  readonly #silence: Silence;
  /** How fast it finishes runs. */
  readonly pace: Pace = new Pace(1);
  /** It gets no runs ahead of its slots while it has more than this many. */
  refillAt: number = Number.POSITIVE_INFINITY;
  #lastTicket = 0;
  /** Since when it has not read an assigned run; monotonic. */
  #waitsSince: number | null = null;
  #answered: (() => void)[] = [];

  constructor({ number, generation, instanceNumber, clock, heard, awake, gone }: ChildParts) {
    this.number = number;
    this.generation = generation;
    this.#clock = clock;
    this.startedAt = clock.now();
    this.#silence = new Silence(clock);
    this.#process = fork(process.argv[1]!, process.argv.slice(2), {
      // Two processes cannot listen on one debugger port.
      execArgv: [
        ...youngGenerationOptions(),
        ...process.execArgv.filter((option) => !option.startsWith("--inspect")),
      ],
      env: { ...process.env, [NUMBER]: String(number), [INSTANCE]: String(instanceNumber) },
      serialization: "advanced",
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    this.pid = this.#process.pid ?? 0;
    this.#words = new LastWords(this.#process.stderr);
    // The callback ignores errors: if the process has exited, its "exit" event follows.
    this.#mailbox = new Mailbox(
      (envelope) => this.#process.connected && this.#process.send(envelope, () => {}),
    );
    this.#process.on("message", (received) => {
      const { isAnswering: wasAnswering } = this;
      this.#noteAnswer();
      for (const message of toMessages<ToParent>(received)) heard(this, message);
      if (!wasAnswering && this.isAnswering) awake();
    });
    let cancel = () => {};
    const ended = () => {
      if (this.state === "gone") return;
      this.state = "gone";
      cancel();
      gone(this);
    };
    this.#process.on("error", (error) => {
      this.#words.add(`${error.message}\n`);
      if (this.#process.pid === undefined) ended();
    });
    this.#process.on("exit", (code, signal) => {
      this.exit = { code, signal };
      cancel = clock.after(LAST_WORDS, ended);
    });
    this.#process.on("close", ended);
  }

  /** Its name in log lines. */
  get name(): string {
    return `child ${this.number} (pid ${this.pid})`;
  }

  /** Its name in the rows of its runs. */
  get label(): string {
    return `${this.number}:${this.pid}`;
  }

  /** How it ended, as the predicate of a sentence. */
  get howItEnded(): string {
    const { code, signal } = this.exit;
    if (this.killed) return `was killed: ${this.killed.why}`;
    return signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
  }

  /** The end of its standard error. */
  get lastWords(): string {
    return this.#words.text;
  }

  /** Assignments without a result. */
  get unsettled(): Assignment[] {
    return [...this.executions.values()].filter(({ isSettled }) => !isSettled);
  }

  /** Number of runs that it executes; others may wait for a slot in it. */
  get running(): number {
    return this.unsettled.filter(({ hasBegun }) => hasBegun).length;
  }

  /** Whether it reads its messages. */
  get isAnswering(): boolean {
    const since = Math.min(this.#waitsSince ?? Infinity, this.#silence.since ?? Infinity);
    return this.#clock.monotonic() - since < SILENT_AFTER;
  }

  post(message: ToChild): void {
    this.#mailbox.post(message);
  }

  assign(assignment: Assignment): void {
    const { ticket, run } = assignment;
    const now = this.#clock.monotonic();
    this.taken++;
    this.executions.set(ticket, assignment);
    this.pace.started(now);
    this.#lastTicket = ticket;
    this.#waitsSince ??= now;
    this.post({ type: "run", ticket, run });
  }

  /** Notes that all its runs up to a ticket have begun, and that it has read those up to `read`. */
  began(upTo: number, read: number): void {
    for (const [ticket, assignment] of this.executions) {
      if (ticket > upTo) break;
      if (!assignment.hasBegun) assignment.begin();
    }
    this.#waitsSince = read < this.#lastTicket ? this.#clock.monotonic() : null;
  }

  /** Forgets an assignment whose handler has returned. */
  forget({ ticket }: Assignment): void {
    this.executions.delete(ticket);
    this.pace.done(this.#clock.monotonic());
  }

  /** Whether it sends any message within this many milliseconds. */
  answers(within: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(within, () => resolve(false), { background: true });
      this.#answered.push(() => {
        cancel();
        resolve(true);
      });
      this.post({ type: "ping" });
    });
  }

  /** Sends a ping. Returns for how long the child has not answered. */
  ping(interval: number): number {
    this.post({ type: "ping" });
    return this.#silence.ask(interval);
  }

  /** `spares`: its runs are not charged with a crash. `verdict`: the result that the kill gives one of them. */
  kill(why: string, spares: boolean, verdict?: [Assignment, Result]): void {
    this.killed ??= { why, spares };
    if (verdict) this.#verdicts.set(...verdict);
    this.#process.kill("SIGKILL");
  }

  verdict(assignment: Assignment): Result | undefined {
    return this.#verdicts.get(assignment);
  }

  #noteAnswer(): void {
    this.#silence.end();
    const answered = this.#answered;
    this.#answered = [];
    for (const resolve of answered) resolve();
  }
}

/** Measures for how long a child that is pinged has not answered. */
export class Silence {
  readonly #clock: Clock;
  #askedAt = 0;
  #length = 0;
  /** When the first ping without an answer was sent; monotonic. Null: every ping was answered. */
  since: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Notes a ping, sent every `interval` milliseconds. Returns the length of the silence. A pause of the parent counts
   * as one interval at most: the answer may lie unread.
   */
  ask(interval: number): number {
    const now = this.#clock.monotonic();
    if (this.since === null) this.since = now;
    else this.#length += Math.min(now - this.#askedAt, interval);
    this.#askedAt = now;
    return this.#length;
  }

  /** Notes a message from the child. */
  end(): void {
    this.since = null;
    this.#length = 0;
  }
}

const LAST_LINES = 20;
const LAST_CHARACTERS = 4000;

/** Passes on the standard error of a child, and keeps its end for the message that says why the child ended. */
class LastWords {
  #text = "";

  /** `stream` is missing if the system could not start the process. */
  constructor(stream: Readable | null | undefined) {
    if (!stream) return;
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      process.stderr.write(text);
      this.add(text);
    });
    stream.on("error", () => {});
  }

  add(text: string): void {
    this.#text = (this.#text + text).slice(-LAST_CHARACTERS);
  }

  get text(): string {
    return this.#text.trim().split("\n").slice(-LAST_LINES).join("\n");
  }
}
