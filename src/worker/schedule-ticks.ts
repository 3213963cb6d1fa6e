import type { WorkerParts } from "./parts.ts";

const DUTY = "ticking schedules";

type TickParts = Pick<WorkerParts, "clock" | "events" | "counts" | "deadline">;

/**
 * Ticks one slice of the due schedules, counts the runs and emits an event for each schedule. Returns the number of
 * runs inserted. Reports an error instead of throwing it: ready runs start although schedules cannot tick.
 */
export async function tickSchedules(
  ticker: NonNullable<WorkerParts["ticker"]>,
  { clock, events, counts, deadline }: TickParts,
): Promise<number> {
  try {
    const inserted = await ticker.tick(({ schedule, job, runs, missed }) => {
      counts.dispatched(job, clock.now(), runs.length);
      const ticked = runs.map(({ id, tickAt }) => ({ id, scheduledFor: new Date(tickAt) }));
      events.emit("schedule.ticked", { schedule, job, runs: ticked, missed });
    });
    events.succeeded(DUTY);
    return inserted;
  } catch (error) {
    if (!deadline.isOver) events.failed(error, DUTY);
    return 0;
  }
}
