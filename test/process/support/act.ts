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
