import { type BatchAddition, type Definition, Punctual, type RunContext } from "../../../src/index.ts";
import { sleepReal } from "../../../src/time.ts";
import { type Note, noteIn } from "../../support/journal.ts";

type Member = Definition<MemberArgs>;

interface BatchJobs {
  kept: Member;
  /** History does not keep its runs. */
  forgotten: Member;
  failing: Member;
  success: BatchAddition;
  failure: BatchAddition;
  finish: BatchAddition;
}

/** Longest that a member takes, in milliseconds. */
const LONGEST = 20;

/**
 * Defines the jobs of batches whose processes are killed, in a process that works or dispatches. In the journal are the
 * ends of members and the starts of callbacks; their key is the id of the batch.
 */
export function defineBatchJobs(jobs: Punctual, note: Note): BatchJobs {
  const noteRun = (what: string, { id, name, attempt, batch }: RunContext) =>
    note(what, { run: id, job: name, attempt, key: String(batch!.id) });
  const handle = async (args: MemberArgs, run: RunContext) => {
    try {
      await sleepReal(Math.random() * LONGEST);
      await act(args, run);
    } finally {
      noteRun("end", run);
    }
  };
  const act = async ({ n, does }: MemberArgs, run: RunContext) => {
    if (does === "fails") throw new Error("as planned");
    if (does === "retries" && run.attempt === 1) throw new Error("once");
    // Ends the whole process, with every run that it has.
    if (does === "dies" && run.crashes === 0) process.kill(process.pid, "SIGKILL");
    if (does === "adds") {
      // A handler may run twice if its process dies: the key makes it add once.
      const key = `${run.batch!.id}:${n}`;
      await run.batch!.add(kept.draft().args({ n: 0, does: "completes" }).unique(key, { for: "1h" }));
    }
  };
  const settings = { max: 3, base: 0 };
  const kept: Member = jobs.define("kept", handle).attempts(settings).concurrency(0);
  const forgotten = jobs.define("forgotten", handle).attempts(settings).concurrency(0).keep(0);
  const failing = jobs.define("failing", handle).attempts(1).concurrency(0);
  const callback = (name: string) =>
    jobs
      .define(name, (_: unknown, run) => noteRun("start", run))
      .concurrency(0)
      .keep(0);
  return {
    kept,
    forgotten,
    failing,
    success: callback("success"),
    failure: callback("failure"),
    finish: callback("finish"),
  };
}

export interface MemberArgs {
  n: number;
  does: "completes" | "fails" | "retries" | "dies" | "adds";
}

/** A batch as it was planned, with the counts that it must have in the end. */
export interface BatchPlan {
  members: BatchAddition[];
  total: number;
  failed: number;
}

if (process.argv[1] === import.meta.filename) {
  const [, , url, journal, name] = process.argv;
  const note = noteIn(journal!, name!);
  const jobs = new Punctual(url!, { logger: false });
  defineBatchJobs(jobs, note);
  jobs.on("worker.started", () => note("worker.started"));
  await jobs.forever({ parallel: 8, sleep: "200ms" });
  process.exit(0);
}
