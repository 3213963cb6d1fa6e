import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Punctual } from "../../../src/index.ts";
import { seeded } from "../../chaos/support/random.ts";
import { findFaketime } from "../../servers/faketime.ts";
import { Journal, noteIn } from "../../support/journal.ts";
import type { Role } from "./actor.ts";
import { check, type Evidence, type StoredRun } from "./checker.ts";
import { connectionsLeft, countConnections, countRows, countUnfinished } from "./counts.ts";
import { faultsOf } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import { codeOf, LEASE, LEDGER, OPERATED, OPERATED_QUEUE, tickNames } from "./load.ts";
import { removeLeftDisks } from "./small-disk.ts";
import { openTarget, type Target, type TargetName } from "./target.ts";

export interface CampaignOptions {
  target: TargetName;
  seconds: number;
  seed: number;
  /** Kinds of faults to inject; all when absent. */
  faults?: string[];
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
  /** Where the journal is kept; null: it was removed, because there were no violations. */
  journal: string | null;
}

const FLEET: Partial<Record<Role, number>> = {
  producer: 2,
  worker: 3,
  supervisor: 1,
  operator: 1,
  collector: 1,
};

/** The faults begin when the first run has ended, or after this time: on a busy machine the processes load slowly. */
const STARTS_WITHIN = 180_000;

/** How long the fleet may take to finish one more run after the last fault. Leases, isolation and retries need the most. */
const PROGRESS_WITHIN = 120_000;

/**
 * Least time between the last fault and the end of the workers. The leases of a process that was killed last expire, and
 * another worker reaps its ticks.
 */
const CALM = 4 * LEASE * 1000;

/** Runs a fleet on a database while faults happen, and checks what came of it. */
export async function runCampaign({
  target: name,
  seconds,
  seed,
  faults: kinds,
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
  const fleet = new Fleet({ urls: target.urls, hasClocks, journal, note, random });
  try {
    await jobs.install();
    fleet.refill(FLEET);
    await untilWorking(journal);
    const faults = await injectFaults({ fleet, target, kinds, hasClocks, note, random, seconds, print });
    const faultless = performance.now();
    await fleet.end("producer", "operator", "collector");
    await fleet.deployNames();
    await resumeAll(jobs);
    const stuck = await untilFinished(jobs, target);
    await pause(Math.max(0, faultless + CALM - performance.now()));
    const idle = await countConnections(target);
    const ends = await fleet.end("worker", "supervisor");
    await jobs.prune();
    const footprint = { rows: await countRows(target), connections: await connectionsLeft(target, idle) };
    const evidence = { ...(await gather(target, journal)), footprint };
    const { violations: broken } = await jobs.verify();
    const violations = [...stuck, ...ends, ...broken.map(({ message }) => message), ...check(evidence)];
    const isKept = violations.length > 0;
    if (!isKept) rmSync(folder, { recursive: true });
    const figures = figuresOf(evidence);
    return {
      target: name,
      seed,
      seconds,
      violations,
      faults,
      ...figures,
      journal: isKept ? journal.path : null,
    };
  } finally {
    fleet.clear();
    await jobs.stop();
    journal.close();
    await target.close();
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

/** Waits until no run is left but ticks. Returns a sentence if none has finished for too long. */
async function untilFinished(jobs: Punctual, target: Target): Promise<string[]> {
  let fewest = Infinity;
  let end = 0;
  for (;;) {
    const { runs } = await jobs.runs({
      where: `-job:${tickNames.join()} state:scheduled,ready,running`,
      limit: 1,
    });
    const [run] = runs;
    if (!run) return [];
    const left = await countUnfinished(target);
    if (left < fewest) {
      fewest = left;
      end = performance.now() + PROGRESS_WITHIN;
    }
    if (performance.now() > end)
      return [`run ${run.id} of ${run.name} does not finish: ${await jobs.why(run.id)}`];
    await pause(500);
  }
}

async function gather(target: Target, journal: Journal): Promise<Omit<Evidence, "footprint">> {
  const access = await target.connect();
  const columns = "id, name, state, attempts, crashes, tick_at, args";
  const read = async (table: string) =>
    (await access.all<StoredRun>(`select ${columns} from punctual_${table}`)).map((row) => ({
      ...row,
      id: Number(row.id),
    }));
  try {
    const booked = await access.all<{ run: number }>(`select run from ${LEDGER}`);
    return {
      entries: journal.entries,
      finished: await read("history"),
      unfinished: await read("runs"),
      booked: booked.map(({ run }) => Number(run)),
    };
  } finally {
    await access.close();
  }
}

function figuresOf({
  entries,
  finished,
}: Evidence): Pick<CampaignReport, "accepted" | "finished" | "executions" | "memory"> {
  const of = (what: string) => entries.filter((entry) => entry.what === what);
  return {
    accepted: of("accepted").reduce((sum, { ids }) => sum + ids!.length, 0),
    finished: finished.length,
    executions: of("start").length,
    memory: of("figures").reduce((most, { ids }) => Math.max(most, ids![0]!), 0),
  };
}
