import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Punctual } from "../../../src/index.ts";
import { seeded } from "../../chaos/support/random.ts";
import { findFaketime } from "../../servers/faketime.ts";
import { type Entry, Journal, noteIn } from "../../support/journal.ts";
import type { Role } from "./actor.ts";
import { check, type Evidence } from "./checker.ts";
import { connectionsLeft, countConnections, countRows, countUnfinished, runningTicks } from "./counts.ts";
import { gather } from "./evidence.ts";
import { faultsOf } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import { judgedIn } from "./growth.ts";
import { codeOf, OPERATED, OPERATED_QUEUE, tickNames } from "./load.ts";
import { removeLeftDisks } from "./small-disk.ts";
import { openTarget, type Target, type TargetName } from "./target.ts";

export interface CampaignOptions {
  target: TargetName;
  seconds: number;
  seed: number;
  /** Kinds of faults to inject; all when absent. */
  faults?: string[];
  /**
   * Seconds that the fleet may take to finish one more run or batch after the last fault; 120 when absent. Leases,
   * isolation, retries and the sweep of batches need the most.
   */
  patience?: number;
  /** Fraction of the runs of one job that take seconds, so that their leases are renewed or lost; 0.02 when absent. */
  long?: number;
  /** Prints progress. */
  print(text: string): void;
}

export interface CampaignReport {
  target: TargetName;
  seed: number;
  seconds: number;
  violations: string[];
  /** Number of injected faults of each kind. */
  faults: Record<string, number>;
  accepted: number;
  finished: number;
  executions: number;
  /** Largest resident memory of a process, in MiB. */
  memory: number;
  /** Processes that lived long enough for a verdict about the growth of their memory. */
  judged: number;
  /** Seconds of processor time that the processes of each role took. */
  cpu: Record<string, number>;
  /** How many seconds each phase took. */
  took: Record<string, number>;
  /** Folder of the journal; null: it was removed, because there were no violations. */
  journal: string | null;
}

const FLEET: Partial<Record<Role, number>> = {
  producer: 2,
  worker: 3,
  veteran: 1,
  supervisor: 1,
  operator: 1,
  collector: 1,
};

/** The faults begin when the first run has ended, or after this time: on a busy machine the processes load slowly. */
const STARTS_WITHIN = 180_000;

/** Runs a fleet on a database while faults happen, and checks what came of it. */
export async function runCampaign({
  target: name,
  seconds,
  seed,
  faults: kinds,
  patience = 120,
  long = 0.02,
  print,
}: CampaignOptions): Promise<CampaignReport> {
  removeLeftDisks();
  const target = await openTarget(name);
  const folder = mkdtempSync(join(tmpdir(), "punctual-journal-"));
  const journal = new Journal(join(folder, "journal.jsonl"));
  const random = seeded(seed);
  const note = noteIn(journal.path, "campaign");
  const jobs = new Punctual(target.urls[0]!, { logger: false });
  const hasClocks = target.kind !== "sqlite" && findFaketime() !== undefined;
  const fleet = new Fleet({ urls: target.urls, hasClocks, long, journal, note, random });
  const phases = new Phases();
  try {
    await jobs.install();
    phases.end("set up");
    fleet.refill(FLEET);
    await untilWorking(journal);
    phases.end("start");
    const faults = await injectFaults({ fleet, target, kinds, hasClocks, note, random, seconds, print });
    phases.end("faults");
    await fleet.end("producer", "operator", "collector");
    await fleet.deployNames();
    phases.end("last deploy");
    await resumeAll(jobs);
    const stuck = await untilFinished(jobs, target, patience * 1000);
    phases.end("finish");
    const idle = await countConnections(target);
    const ends = await fleet.end("worker", "veteran", "supervisor");
    phases.end("end workers");
    await jobs.prune();
    const footprint = { rows: await countRows(target), connections: await connectionsLeft(target, idle) };
    phases.end("footprint");
    const evidence = { ...(await gather(target, journal)), footprint };
    const { violations: broken } = await jobs.verify();
    const violations = [...stuck, ...ends, ...broken.map(({ message }) => message), ...check(evidence)];
    const isKept = violations.length > 0;
    if (!isKept) rmSync(folder, { recursive: true });
    const figures = figuresOf(evidence);
    phases.end("check");
    return {
      target: name,
      seed,
      seconds,
      violations,
      faults,
      ...figures,
      took: phases.took,
      journal: isKept ? journal.path : null,
    };
  } finally {
    fleet.clear();
    await jobs.stop();
    journal.close();
    await target.close();
  }
}

/** Measures the phases of a campaign, which follow one another. */
class Phases {
  /** Seconds of each phase. */
  readonly took: Record<string, number> = {};
  #since = performance.now();

  end(phase: string): void {
    const now = performance.now();
    this.took[phase] = Math.round((now - this.#since) / 100) / 10;
    this.#since = now;
  }
}

interface Injection {
  fleet: Fleet;
  target: Target;
  kinds: string[] | undefined;
  hasClocks: boolean;
  note: ReturnType<typeof noteIn>;
  random(): number;
  seconds: number;
  print(text: string): void;
}

async function untilWorking(journal: Journal): Promise<void> {
  const end = performance.now() + STARTS_WITHIN;
  while (journal.find({ what: "end" }).length === 0 && performance.now() < end) await pause(500);
}

/** Injects one fault after the other, and returns how many of each kind. */
async function injectFaults(injection: Injection): Promise<Record<string, number>> {
  const { fleet, target, kinds, hasClocks, note, random, seconds, print } = injection;
  const faults = Object.entries(faultsOf(target, hasClocks)).filter(
    ([kind]) => kinds?.includes(kind) ?? true,
  );
  if (faults.length === 0)
    throw new Error(`A campaign on ${target.name} has no such fault: ${kinds!.join(", ")}.`);
  const counts: Record<string, number> = {};
  const between = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const [kind, inject] = faults[between(0, faults.length - 1)]!;
    note("fault", { text: kind });
    counts[kind] = (counts[kind] ?? 0) + 1;
    // A server may end the connection of a fault, such as one that holds locks.
    await inject({ fleet, target, note, between }).catch((error) =>
      note("fault ended", { text: String(error) }),
    );
    fleet.refill(FLEET);
    print(kind);
    await pause(between(200, 2500));
  }
  note("calm");
  return counts;
}

/** An outage may have cut an operator's pause short, and the operator may have died. */
async function resumeAll(jobs: Punctual): Promise<void> {
  const isUnknown = (error: unknown) => codeOf(error).startsWith("UNKNOWN");
  const resumed = [...OPERATED.map((name) => jobs.resumeJob(name)), jobs.resumeQueue(OPERATED_QUEUE)];
  for (const result of await Promise.allSettled(resumed))
    if (result.status === "rejected" && !isUnknown(result.reason)) throw result.reason;
}

/**
 * Waits until no run is left but ticks that came later, and no batch. Returns a sentence if nothing has finished for
 * too long.
 */
async function untilFinished(jobs: Punctual, target: Target, patience: number): Promise<string[]> {
  // A tick that a killed process has left must be reaped before the workers end.
  const ticks = await runningTicks(target);
  let fewest = Infinity;
  let end = 0;
  for (;;) {
    const left = await countUnfinished(target, ticks);
    if (left === 0) return [];
    if (left < fewest) {
      fewest = left;
      end = performance.now() + patience;
    }
    if (performance.now() > end) return describeStuck(jobs);
    await pause(200);
  }
}

async function describeStuck(jobs: Punctual): Promise<string[]> {
  const where = `-job:${tickNames.join()} state:scheduled,ready,running`;
  const [run] = (await jobs.runs({ where, limit: 1 })).runs;
  if (run) return [`run ${run.id} of ${run.name} does not finish: ${await jobs.why(run.id)}`];
  return ["a tick or a batch does not finish"];
}

function figuresOf({
  entries,
  finished,
}: Evidence): Pick<CampaignReport, "accepted" | "finished" | "executions" | "memory" | "judged" | "cpu"> {
  const of = (what: string) => entries.filter((entry) => entry.what === what);
  return {
    accepted:
      of("accepted").reduce((sum, { ids }) => sum + ids!.length, 0) +
      of("batched").reduce((sum, { text }) => sum + JSON.parse(text!).length, 0),
    finished: finished.length,
    executions: of("start").length,
    memory: of("figures").reduce((most, { ids }) => Math.max(most, ids![0]!), 0),
    judged: judgedIn(entries),
    cpu: cpuOf(of("figures")),
  };
}

/** Sums the last report of each process by its role. Children of a supervisor are a role of their own. */
function cpuOf(reports: Entry[]): Record<string, number> {
  const ofProcess = new Map(reports.map(({ by, pid, ids }) => [pid, { by, ms: ids![1]! }]));
  const roles = Map.groupBy(ofProcess.values(), ({ by }) => by.replace(/ \d+/, ""));
  const sum = (all: { ms: number }[]) => Math.round(all.reduce((total, { ms }) => total + ms, 0) / 100) / 10;
  return Object.fromEntries([...roles].map(([role, all]) => [role, sum(all)]));
}
