import { PunctualError } from "../errors.ts";
import type { Emitter } from "../events/events.ts";
import type { Logger } from "../events/logger.ts";
import type { Description } from "../job/description.ts";
import type { Clock } from "../time.ts";
import { Child } from "./child.ts";
import type { ToParent } from "./messages.ts";
import type { Supervision } from "./options.ts";
import { Restarts } from "./restarts.ts";

const PING_EVERY = 1000;
const BOOT_WITHIN = 60_000;
/** So many in a row that cannot boot, with none alive, end the supervisor. */
const FAILED_BOOTS = 5;
/** How long the program of a child may take to end after its last run. */
const EXIT_WITHIN = 5000;

interface Slot {
  number: number;
  /** The one that takes runs. */
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
  /** What it had is lost. */
  lost(child: Child): void;
  /** What a child defines. `isNewer`: in place of what others have described; else besides. */
  described(description: Description, isNewer: boolean): void;
  /** There are more places, or fewer. */
  changed(): void;
  /** There will be no children any more. */
  failed(error: PunctualError): void;
}

/** Keeps so many children alive as are wanted: boots, replaces and retires them. */
export class Crew {
  readonly #parts: CrewParts;
  readonly #slots: Slot[];
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
    this.#slots = Array.from({ length: parts.supervision.workers }, (_, index) => ({
      number: index + 1,
      current: null,
      booting: null,
      restarts: new Restarts(),
      cancelRestart: null,
    }));
  }

  /** Those that may be given runs. While newer code is rolled out, those that would run it otherwise than it is described are not. */
  get ready(): Child[] {
    return this.#slots.flatMap(({ current }) =>
      current && (current.generation === this.#generation || current.digest === this.#digest)
        ? [current]
        : [],
    );
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
    for (const slot of this.#slots) this.#bootLater(slot, 0);
  }

  /** Loads the definitions anew: one child first, and if it can boot the others. */
  async reload(): Promise<void> {
    const { logger, events, random } = this.#parts;
    if (this.#isStopping) return;
    if (this.#isReloading) {
      // What has changed since may not be in what is being loaded.
      this.#reloadsAgain = true;
      return;
    }
    this.#isReloading = true;
    logger.info("reloading the definitions");
    const generation = this.#generation + 1;
    const [first, ...others] = this.#slots;
    try {
      await this.#boot(first!, generation);
      await Promise.all(
        others.map((slot) =>
          this.#boot(slot, generation).catch((error) => this.#bootLater(slot, this.#failed(slot, error))),
        ),
      );
      logger.info("the definitions were reloaded");
    } catch (error) {
      if (!this.#isStopping)
        events.report(error, "reloading: the children go on with the definitions they have");
      // The one it was to replace may have ended meanwhile.
      if (!first!.current) this.#bootLater(first!, first!.restarts.wait(null, random));
    } finally {
      this.#isReloading = false;
    }
    if (!this.#reloadsAgain) return;
    this.#reloadsAgain = false;
    await this.reload();
  }

  /** It gets nothing more, and ends when it has finished what it has; another takes its place. */
  retire(child: Child, reason: string): void {
    if (child.state !== "ready") return;
    child.state = "retiring";
    const { events, logger } = this.#parts;
    const { number, pid } = child;
    if (!this.#isStopping) logger.info(`${child.name} is replaced: ${reason}`);
    events.emit("child.retired", { number, pid, reason });
    const slot = this.#slots[number - 1]!;
    // Unless another has its place already.
    if (slot.current === child) {
      slot.current = null;
      this.#bootLater(slot, 0);
    }
    this.idle(child);
    this.#parts.changed();
  }

  /** It may have finished all it had. */
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
    for (const slot of this.#slots) {
      slot.cancelRestart?.();
      slot.booting?.child.kill("the supervisor ends", true);
    }
  }

  /** Once nothing is under way. */
  async close(): Promise<void> {
    this.stop();
    for (const child of this.#children) this.retire(child, "the supervisor ends");
    while (this.#children.size > 0) await new Promise<void>((resolve) => (this.#emptied = resolve));
    this.#cancelPings();
  }

  kill(): void {
    for (const child of this.#children) child.kill("the supervisor ends", true);
  }

  #bootLater(slot: Slot, wait: number): void {
    if (this.#isStopping || slot.booting || slot.cancelRestart) return;
    slot.cancelRestart = this.#parts.clock.after(wait, () => {
      slot.cancelRestart = null;
      this.#boot(slot, this.#generation).catch((error) => this.#bootLater(slot, this.#failed(slot, error)));
    });
  }

  /** Settles when the child takes runs; rejects if it ends first, or if the system has no room for one. */
  async #boot(slot: Slot, generation: number): Promise<void> {
    const { clock, instanceNumber, heard } = this.#parts;
    slot.cancelRestart?.();
    slot.cancelRestart = null;
    slot.booting?.cancel();
    slot.booting?.child.kill("newer definitions are loaded", true);
    slot.booting = null;
    const child = new Child({
      number: slot.number,
      generation,
      instanceNumber,
      clock,
      heard: (from, message) => (this.#hear(from, message, slot) ? undefined : heard(from, message)),
      awake: () => this.#parts.changed(),
      gone: (gone) => this.#gone(gone, slot),
    });
    this.#children.add(child);
    const cancel = clock.after(BOOT_WITHIN, () =>
      child.kill(`it did not reach supervise() within ${BOOT_WITHIN / 1000} s`, true),
    );
    slot.booting = { child, end: Promise.withResolvers<void>(), cancel };
    return slot.booting.end.promise;
  }

  #hear(child: Child, message: ToParent, slot: Slot): boolean {
    if (message.type === "ready") {
      child.digest = message.digest;
      if (child.generation > this.#generation || this.#digest === 0) child.post({ type: "describe" });
      else this.#booted(child, slot);
    } else if (message.type === "described") {
      const isNewer = child.generation > this.#generation || this.#digest === 0;
      child.digest = message.digest;
      child.lacks.clear();
      // What an older one defines by now would take the place of what is newer.
      if (child.generation >= this.#generation) {
        if (isNewer) this.#digest = message.digest;
        this.#generation = child.generation;
        this.#parts.described(message.description, isNewer);
      }
      this.#booted(child, slot);
    } else if (message.type === "retire") {
      if (child.state === "starting") child.unwanted = message.reason;
      this.retire(child, message.reason);
    } else if (message.type === "pong") this.#weigh(child, message.memory);
    else return false;
    return true;
  }

  #booted(child: Child, slot: Slot): void {
    if (child.state !== "starting" || slot.booting?.child !== child) return;
    const { clock, events, logger } = this.#parts;
    const { end, cancel } = slot.booting;
    const former = slot.current;
    cancel();
    slot.booting = null;
    slot.current = child;
    child.state = "ready";
    child.readyAt = clock.monotonic();
    this.#failedBoots = 0;
    if (child.digest !== this.#digest && child.generation === this.#generation) {
      logger.warn(`${child.name} defines other jobs than those before it; SIGHUP loads them in all children`);
    }
    events.emit("child.started", { number: child.number, pid: child.pid });
    if (former) this.retire(former, "newer definitions were loaded");
    end.resolve();
    if (child.unwanted !== null) this.retire(child, child.unwanted);
    this.#parts.changed();
  }

  #gone(child: Child, slot: Slot): void {
    const { clock, events, logger, random, lost } = this.#parts;
    const { number, pid, exit } = child;
    const runs = child.unsettled.length;
    this.#children.delete(child);
    events.emit("child.exited", { number, pid, ...exit, runs });
    if (runs > 0 || slot.current === child) {
      const having = runs === 0 ? "" : `, with ${runs === 1 ? "1 run" : `${runs} runs`},`;
      logger.warn(`${child.name}${having} ${howItEnded(child)}`);
    }
    lost(child);
    if (slot.booting?.child === child) {
      const { end, cancel } = slot.booting;
      slot.booting = null;
      cancel();
      end.reject(cannotBoot(child));
    } else if (slot.current === child) {
      slot.current = null;
      const life = { lived: clock.monotonic() - child.readyAt!, ended: child.ended };
      this.#bootLater(slot, slot.restarts.wait(life, random));
    }
    this.#parts.changed();
    if (this.#children.size === 0) this.#emptied?.();
  }

  /** How long to wait before the next try. */
  #failed(slot: Slot, error: PunctualError): number {
    if (this.#isStopping) return 0;
    const { events, random, failed } = this.#parts;
    this.#failedBoots++;
    if (this.#failedBoots >= FAILED_BOOTS && this.ready.length === 0) {
      this.stop();
      failed(error);
      return 0;
    }
    events.report(error, `starting child ${slot.number}`);
    return slot.restarts.wait(null, random);
  }

  #ping(child: Child): void {
    if (child.state === "starting" || child.state === "gone") return;
    const { stall } = this.#parts.supervision;
    if (child.ping(PING_EVERY) < stall) return;
    child.kill(`gave no sign of life for ${stall / 1000} s`, false);
  }

  #weigh(child: Child, memory: number): void {
    child.memory = memory;
    if (memory <= this.#parts.supervision.maxMemory) return;
    this.retire(child, `it uses ${Math.round(memory / 2 ** 20)} MB`);
  }
}

export function howItEnded({ killed, exit: { code, signal } }: Child): string {
  if (killed) return `was killed: ${killed.why}`;
  return signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
}

function cannotBoot(child: Child): PunctualError {
  const words = child.lastWords;
  const hint =
    words !== ""
      ? ` It said last:\n${words}`
      : " A child runs the same program with the same arguments, and has to come to the same call of supervise().";
  return new PunctualError(
    "CHILDREN_CANNOT_BOOT",
    `A child process has to reach supervise(); ${child.name} ${howItEnded(child)} before it did.${hint}`,
  );
}
