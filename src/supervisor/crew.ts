import { backoffWait } from "../backoff.ts";
import { PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { Description } from "../job/description.ts";
import type { Clock } from "../time.ts";
import { Child, PING_EVERY } from "./child.ts";
import type { ToParent } from "./messages.ts";
import type { Supervision } from "./options.ts";

/** How long a child has to reach supervise(). */
const BOOT_WITHIN = 60_000;

/** Number of failed boots in a row, with no live child, that ends the supervisor. */
const FAILED_BOOTS = 5;

/** How long a child has to exit after its last run. */
const EXIT_WITHIN = 5000;

/** The position of one child. When the child ends, another takes its seat. */
interface Seat {
  number: number;
  /** The child that takes runs; null while none does. */
  current: Child | null;
  booting: { child: Child; end: PromiseWithResolvers<void>; cancel: () => void } | null;
  restarts: Restarts;
  cancelRestart: (() => void) | null;
}

export interface CrewParts {
  clock: Clock;
  events: Emitter;
  logger: Logger;
  random(): number;
  instanceNumber: number;
  supervision: Supervision;
  heard(child: Child, message: ToParent): void;
  /** Called when a child has ended: its runs are lost. */
  lost(child: Child): void;
  /** Called when a child has described its jobs. `isNewer`: they replace those of the other children. */
  described(description: Description, isNewer: boolean): void;
  /** Called when the number of free slots has changed. */
  changed(): void;
  /** Called when no child can boot: the supervisor ends. */
  failed(error: PunctualError): void;
}

/** A child that took runs for this long is healthy. */
const HEALTHY_AFTER = 10_000;

const RESTART_BACKOFF = { first: 1000, longest: 30_000 };

/** Decides how long a seat stays empty after its child has ended. */
export class Restarts {
  #failures = 0;

  /** Returns milliseconds. `life`: how long the child took runs, and how many it finished; null: it took none. */
  wait(life: { lived: number; ended: number } | null, random: () => number): number {
    // A child that finished runs before it ended can boot: one run ended it, which must not delay the other runs.
    if (life && (life.ended > 0 || life.lived >= HEALTHY_AFTER)) this.#failures = 0;
    if (life && life.lived >= HEALTHY_AFTER) return 0;
    return backoffWait(++this.#failures, RESTART_BACKOFF, random);
  }
}

/** Keeps `workers` children alive: boots, replaces and retires them. */
export class Crew {
  readonly #parts: CrewParts;
  readonly #seats: Seat[];
  readonly #children = new Set<Child>();
  #generation = 0;
  #digest = 0;
  #failedBoots = 0;
  #isStopping = false;
  #isReloading = false;
  #reloadsAgain = false;
  #cancelPings: () => void = () => {};
  #emptied: (() => void) | null = null;

  constructor(parts: CrewParts) {
    this.#parts = parts;
    this.#seats = Array.from({ length: parts.supervision.workers }, (_, index) => ({
      number: index + 1,
      current: null,
      booting: null,
      restarts: new Restarts(),
      cancelRestart: null,
    }));
  }

  /**
   * Children that may be given runs. While newer definitions are loaded, a child with older ones is left out if they
   * differ.
   */
  get ready(): Child[] {
    const ready: Child[] = [];
    for (const { current } of this.#seats) {
      if (current && (current.generation === this.#generation || current.digest === this.#digest))
        ready.push(current);
    }
    return ready;
  }

  get children(): Child[] {
    return [...this.#children];
  }

  start(): void {
    const ping = () => {
      for (const child of this.#children) this.#ping(child);
      this.#cancelPings = this.#parts.clock.after(PING_EVERY, ping, { background: true });
    };
    ping();
    for (const seat of this.#seats) this.#bootLater(seat, 0);
  }

  /**
   * Replaces all children by new ones, which load the current definitions: one first, and the others if it can boot.
   */
  async reload(): Promise<void> {
    const { logger, events, random } = this.#parts;
    if (this.#isStopping) return;
    if (this.#isReloading) {
      // The program may have changed since the reload under way began.
      this.#reloadsAgain = true;
      return;
    }
    this.#isReloading = true;
    logger.info("reloading the definitions");
    const generation = this.#generation + 1;
    const [first, ...others] = this.#seats;
    try {
      await this.#boot(first!, generation);
      await Promise.all(
        others.map((seat) =>
          this.#boot(seat, generation).catch((error) => this.#bootLater(seat, this.#failed(seat, error))),
        ),
      );
      logger.info("the definitions were reloaded");
    } catch (error) {
      if (!this.#isStopping) events.report(error, "reloading: the children keep the definitions they have");
      // The child that it was to replace may have ended meanwhile.
      if (!first!.current) this.#bootLater(first!, first!.restarts.wait(null, random));
    } finally {
      this.#isReloading = false;
    }
    if (!this.#reloadsAgain) return;
    this.#reloadsAgain = false;
    await this.reload();
  }

  /** Assigns no more runs to a child, starts another in its seat, and lets it exit after its last run. */
  retire(child: Child, reason: string): void {
    if (child.state !== "ready") return;
    child.state = "retiring";
    const { events, logger } = this.#parts;
    const { number, pid } = child;
    if (!this.#isStopping) logger.info(`${child.name} is replaced: ${reason}`);
    events.emit("child.retired", { number, pid, reason });
    const seat = this.#seats[number - 1]!;
    // Another child may have its seat already.
    if (seat.current === child) {
      seat.current = null;
      this.#bootLater(seat, 0);
    }
    this.idle(child);
    this.#parts.changed();
  }

  /** Tells a retiring child to exit if it has finished its runs. */
  idle(child: Child): void {
    if (child.state !== "retiring" || child.isLeaving || child.unsettled.length > 0) return;
    child.isLeaving = true;
    child.post({ type: "exit" });
    this.#parts.clock.after(
      EXIT_WITHIN,
      () => child.state !== "gone" && child.kill("its program did not end", true),
      {
        background: true,
      },
    );
  }

  stop(): void {
    this.#isStopping = true;
    for (const seat of this.#seats) {
      seat.cancelRestart?.();
      seat.booting?.child.kill("the supervisor ends", true);
    }
  }

  /** Retires all children, after the last run is settled. Resolves when they have ended. */
  async close(): Promise<void> {
    this.stop();
    for (const child of this.#children) this.retire(child, "the supervisor ends");
    while (this.#children.size > 0) await new Promise<void>((resolve) => (this.#emptied = resolve));
    this.#cancelPings();
  }

  kill(): void {
    for (const child of this.#children) child.kill("the supervisor ends", true);
  }

  #bootLater(seat: Seat, wait: number): void {
    if (this.#isStopping || seat.booting || seat.cancelRestart) return;
    seat.cancelRestart = this.#parts.clock.after(wait, () => {
      seat.cancelRestart = null;
      this.#boot(seat, this.#generation).catch((error) => this.#bootLater(seat, this.#failed(seat, error)));
    });
  }

  /** Resolves when the child takes runs. Rejects if it ends first, or if the system cannot start a process. */
  async #boot(seat: Seat, generation: number): Promise<void> {
    const { clock, instanceNumber, heard } = this.#parts;
    seat.cancelRestart?.();
    seat.cancelRestart = null;
    seat.booting?.cancel();
    seat.booting?.child.kill("newer definitions are loaded", true);
    seat.booting = null;
    const child = new Child({
      number: seat.number,
      generation,
      instanceNumber,
      clock,
      heard: (from, message) => (this.#hear(from, message, seat) ? undefined : heard(from, message)),
      awake: () => this.#parts.changed(),
      gone: (gone) => this.#gone(gone, seat),
    });
    this.#children.add(child);
    const cancel = clock.after(BOOT_WITHIN, () =>
      child.kill(`it did not reach supervise() within ${BOOT_WITHIN / 1000} s`, true),
    );
    seat.booting = { child, end: Promise.withResolvers<void>(), cancel };
    return seat.booting.end.promise;
  }

  #hear(child: Child, message: ToParent, seat: Seat): boolean {
    if (message.type === "ready") {
      child.digest = message.digest;
      if (child.generation > this.#generation || this.#digest === 0) child.post({ type: "describe" });
      else this.#booted(child, seat);
    } else if (message.type === "described") {
      const isNewer = child.generation > this.#generation || this.#digest === 0;
      child.digest = message.digest;
      child.lacks.clear();
      // Definitions of an older child must not replace newer ones.
      if (child.generation >= this.#generation) {
        if (isNewer) this.#digest = message.digest;
        this.#generation = child.generation;
        this.#parts.described(message.description, isNewer);
      }
      this.#booted(child, seat);
    } else if (message.type === "retire") {
      if (child.state === "starting") child.unwanted = message.reason;
      this.retire(child, message.reason);
    } else if (message.type === "pong") this.#checkMemory(child, message.memory);
    else return false;
    return true;
  }

  #booted(child: Child, seat: Seat): void {
    if (child.state !== "starting" || seat.booting?.child !== child) return;
    const { clock, events, logger } = this.#parts;
    const { end, cancel } = seat.booting;
    const former = seat.current;
    cancel();
    seat.booting = null;
    seat.current = child;
    child.state = "ready";
    child.readyAt = clock.monotonic();
    this.#failedBoots = 0;
    if (child.digest !== this.#digest && child.generation === this.#generation) {
      logger.warn(
        `${child.name} defines other jobs than the other children; send SIGHUP to load them in all children`,
      );
    }
    events.emit("child.started", { number: child.number, pid: child.pid });
    if (former) this.retire(former, "newer definitions were loaded");
    end.resolve();
    if (child.unwanted !== null) this.retire(child, child.unwanted);
    this.#parts.changed();
  }

  #gone(child: Child, seat: Seat): void {
    const { clock, events, logger, random, lost } = this.#parts;
    const { number, pid, exit, running: runs } = child;
    this.#children.delete(child);
    events.emit("child.exited", { number, pid, ...exit, runs });
    if (runs > 0 || seat.current === child) {
      const having = runs === 0 ? "" : `, with ${runs === 1 ? "1 run" : `${runs} runs`},`;
      logger.warn(`${child.name}${having} ${child.howItEnded}`);
    }
    const wasCurrent = seat.current === child;
    // Before its runs are settled: each of them frees a slot, which the worker fills at once.
    if (wasCurrent) seat.current = null;
    lost(child);
    if (seat.booting?.child === child) {
      const { end, cancel } = seat.booting;
      seat.booting = null;
      cancel();
      end.reject(cannotBoot(child));
    } else if (wasCurrent) {
      const life = { lived: clock.monotonic() - child.readyAt!, ended: child.ended };
      this.#bootLater(seat, seat.restarts.wait(life, random));
    }
    this.#parts.changed();
    if (this.#children.size === 0) this.#emptied?.();
  }

  /** Reports a failed boot. Returns how long to wait before the next one. */
  #failed(seat: Seat, error: PunctualError): number {
    if (this.#isStopping) return 0;
    const { events, random, failed } = this.#parts;
    this.#failedBoots++;
    if (this.#failedBoots >= FAILED_BOOTS && this.ready.length === 0) {
      this.stop();
      failed(error);
      return 0;
    }
    events.report(error, `starting child ${seat.number}`);
    return seat.restarts.wait(null, random);
  }

  #ping(child: Child): void {
    if (child.state === "starting" || child.state === "gone") return;
    const { stall } = this.#parts.supervision;
    if (child.ping(PING_EVERY) < stall) return;
    child.kill(`it gave no sign of life for ${stall / 1000} s`, false);
  }

  #checkMemory(child: Child, memory: number): void {
    child.memory = memory;
    if (memory <= this.#parts.supervision.maxMemory) return;
    this.retire(child, `it uses ${Math.round(memory / 2 ** 20)} MB`);
  }
}

function cannotBoot(child: Child): PunctualError {
  const words = child.lastWords;
  const hint =
    words !== ""
      ? ` Its last output:\n${words}`
      : " A child runs the same program with the same arguments, and must reach the same call of supervise().";
  return new PunctualError(
    "CHILDREN_CANNOT_BOOT",
    `A child process must reach supervise(): ${child.name} ${child.howItEnded} before it did.${hint}`,
  );
}
