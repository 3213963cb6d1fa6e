import { Ticker } from "../schedule/ticker.ts";
import type { Store } from "../store/store.ts";
import type { JobSync } from "./job-sync.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { WorkerParts } from "./parts.ts";

export function tickerOn(
  store: Store,
  known: KnownJobs,
  { ticks }: JobSync,
  { clock, events, counts }: Pick<WorkerParts, "clock" | "events" | "counts">,
): Ticker {
  return new Ticker({
    store,
    clock,
    find: (due) => ticks.find(due),
    elsewhere: () => known.elsewhere(),
    ticked: ({ schedule, job, runs, missed }) => {
      counts.dispatched(job, clock.now(), runs.length);
      const made = runs.map(({ id, tickAt }) => ({ id, scheduledFor: new Date(tickAt) }));
      events.emit("schedule.ticked", { schedule, job, runs: made, missed });
    },
  });
}
