import { setTimeout as pause } from "node:timers/promises";
import type { RunContext } from "../../../src/index.ts";
import type { Journal } from "../../support/journal.ts";
import type { Act } from "./process-jobs.ts";

export async function perform(act: Act, run: RunContext, journal: Journal): Promise<void> {
  switch (act.do) {
    case "return":
      return;
    case "log":
      run.log(`${run.attempt}: begun`, { pid: process.pid });
      return;
    case "log and stay":
      run.log(`${run.attempt}: begun`, { pid: process.pid });
      return new Promise(() => {});
    case "fail":
      throw new Error("the handler fails");
    case "obey":
      await new Promise((_, reject) => run.signal.addEventListener("abort", () => reject(run.signal.reason)));
      return;
    case "ignore":
      return new Promise(() => {});
    case "exit":
      return process.exit(0);
    case "abort":
      return process.abort();
    case "throw in a timer":
      setTimeout(() => {
        throw new Error("nobody catches this");
      });
      return new Promise(() => {});
    case "block":
      return block(act.ms ?? 0, run.id, journal);
    case "block and fail":
      block(act.ms ?? 0, run.id, journal);
      throw new Error("the handler fails");
    case "roll back and return":
      await transact(run, act.ms ?? 0, true).catch(() => {});
      // Turns of the event loop in which a lease that is no longer trusted aborts the handler.
      await pause(100);
      run.signal.throwIfAborted();
      return;
    case "commit":
      return transact(run, act.ms ?? 0, false);
    case "pause":
      return pause(act.ms);
  }
}

function block(ms: number, run: number, journal: Journal): void {
  const since = performance.now();
  const isTaken = () =>
    journal.find({ what: "start", run }).some(({ pid }) => pid !== process.pid) ||
    performance.now() - since > 30_000;
  while (performance.now() - since < ms || !isTaken());
}

function transact(run: RunContext, ms: number, fails: boolean): Promise<void> {
  return run.transaction((tx) => {
    tx.exec("create table written (by integer)");
    for (const since = performance.now(); performance.now() - since < ms; );
    if (fails) throw new Error("the transaction fails");
  });
}
