import { type ChildProcess, fork } from "node:child_process";
import type { ClaimedRun } from "../store/store.ts";
import type { Clock } from "../time.ts";
import type { Result } from "../worker/executor.ts";
import type { Assignment } from "./assignment.ts";
import { INSTANCE, NUMBER } from "./inside.ts";
import { LastWords } from "./last-words.ts";
import { Mailbox, type ToChild, type ToParent, toMessages } from "./messages.ts";
import { Silence } from "./silence.ts";

/** A child that has not answered for this long is busy with something that holds its event loop. */
const SILENT_AFTER = 100;

/** How long what it sent and wrote may take to arrive after it has ended: what it has started may keep its standard error open. */
const LAST_WORDS = 500;

export type ChildState = "starting" | "ready" | "retiring" | "gone";

export interface ChildParts {
  number: number;
  generation: number;
  instanceNumber: number;
  clock: Clock;
  heard(child: Child, message: ToParent): void;
  /** It takes in again what it is given. */
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
  /** It was told to end. */
  isLeaving = false;
  /** Why it is to be replaced as soon as it is ready. */
  unwanted: string | null = null;
  memory: number | null = null;
  /** Monotonic; null: it has not been ready yet. */
  readyAt: number | null = null;
  /** How many runs it was given in all. */
  taken = 0;
  /** How many of them it brought to an end, well or not. */
  ended = 0;
  exit: { code: number | null; signal: string | null } = { code: null, signal: null };
  readonly executions: Map<number, Assignment> = new Map<number, Assignment>();
  /** Runs that crashes have ended and whose hooks it was told to call, by their tickets. */
  readonly crashed: Map<number, ClaimedRun> = new Map<number, ClaimedRun>();
  /** Jobs that it turned out not to define. */
  readonly lacks: Set<string> = new Set<string>();
  /** Why it was killed by us, and what that makes of runs that must not be charged; null: it ended by itself. */
  killed: { why: string; spares: boolean } | null = null;
  readonly #verdicts = new Map<Assignment, Result>();
  readonly #clock: Clock;
  readonly #process: ChildProcess;
  readonly #mailbox: Mailbox<ToChild>;
  readonly #words: LastWords;
  #waitsSince: number | null = null;
  #answered: (() => void)[] = [];
  readonly #silence: Silence;

  constructor({ number, generation, instanceNumber, clock, heard, awake, gone }: ChildParts) {
    this.number = number;
    this.generation = generation;
    this.#clock = clock;
    this.startedAt = clock.now();
    this.#silence = new Silence(clock);
    this.#process = fork(process.argv[1]!, process.argv.slice(2), {
      // A debugger's port cannot be shared.
      execArgv: process.execArgv.filter((option) => !option.startsWith("--inspect")),
      env: { ...process.env, [NUMBER]: String(number), [INSTANCE]: String(instanceNumber) },
      serialization: "advanced",
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    this.pid = this.#process.pid ?? 0;
    this.#words = new LastWords(this.#process.stderr);
    // A message to a process that has just ended is answered by its end.
    this.#mailbox = new Mailbox(
      (envelope) => this.#process.connected && this.#process.send(envelope, () => {}),
    );
    this.#process.on("message", (received) => {
      const { isAnswering: wasAnswering } = this;
      this.#sign();
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

  get name(): string {
    return `child ${this.number} (pid ${this.pid})`;
  }

  /** As it stands in the rows of its runs. */
  get label(): string {
    return `${this.number}:${this.pid}`;
  }

  get lastWords(): string {
    return this.#words.text;
  }

  /** Runs whose outcome is not known. */
  get unsettled(): Assignment[] {
    return [...this.executions.values()].filter(({ isSettled }) => !isSettled);
  }

  /** It takes in what it is given. */
  get isAnswering(): boolean {
    const since = Math.min(this.#waitsSince ?? Infinity, this.#silence.since ?? Infinity);
    return this.#clock.monotonic() - since < SILENT_AFTER;
  }

  post(message: ToChild): void {
    this.#mailbox.post(message);
  }

  assign(assignment: Assignment): void {
    const { ticket, run } = assignment;
    this.taken++;
    this.executions.set(ticket, assignment);
    this.#waitsSince ??= this.#clock.monotonic();
    this.post({ type: "run", ticket, run });
  }

  began(upTo: number): void {
    let waits = false;
    for (const [ticket, assignment] of this.executions) {
      if (ticket > upTo) waits = true;
      else if (!assignment.hasBegun) assignment.begin();
    }
    this.#waitsSince = waits ? this.#clock.monotonic() : null;
  }

  /** Whether it gives any sign of life within so many milliseconds. */
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

  /** Asks for a sign of life; gives for how long there was none. */
  ping(interval: number): number {
    this.post({ type: "ping" });
    return this.#silence.ask(interval);
  }

  /** `spares`: its runs are not charged; `verdict`: what one of them has come to by this. */
  kill(why: string, spares: boolean, verdict?: [Assignment, Result]): void {
    this.killed ??= { why, spares };
    if (verdict) this.#verdicts.set(...verdict);
    this.#process.kill("SIGKILL");
  }

  verdict(assignment: Assignment): Result | undefined {
    return this.#verdicts.get(assignment);
  }

  #sign(): void {
    this.#silence.end();
    const answered = this.#answered;
    this.#answered = [];
    for (const tell of answered) tell();
  }
}
