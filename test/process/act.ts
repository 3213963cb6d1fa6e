import { setTimeout as pause } from "node:timers/promises";
import type { RunContext } from "../../src/index.ts";
import type { Act } from "./jobs.ts";

export async function perform(act: Act, run: RunContext): Promise<void> {
  switch (act.do) {
    case "return":
      return;
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
      for (const end = Date.now() + act.ms!; Date.now() < end; );
      return;
    case "pause":
      return pause(act.ms);
  }
}
