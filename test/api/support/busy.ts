import type { Definition, Run } from "../../../src/index.ts";
import type { Opened } from "./instance.ts";

export interface Busy {
  /** The number of running handlers, and their maximum. */
  now: number;
  most: number;
  started: number;
  /** Lets one of them return. */
  release(): void;
}

/** A job whose handlers run until they are released. */
export function busyJob(
  { jobs }: Pick<Opened, "jobs">,
  name: string,
): { job: Definition<unknown>; busy: Busy } {
  const waiting: (() => void)[] = [];
  const busy: Busy = { now: 0, most: 0, started: 0, release: () => waiting.shift()?.() };
  const job = jobs.schedule(name, async (_args: unknown) => {
    busy.now++;
    busy.started++;
    busy.most = Math.max(busy.most, busy.now);
    await new Promise<void>((resolve) => waiting.push(resolve));
    busy.now--;
  });
  return { job, busy };
}

/** Runs that a busy worker has in all. */
const BACKLOG = 3000;

/**
 * Lets a worker execute short runs of a backlog until it has measured its pace and has prefetched many. Then calls
 * `dispatch`, and returns how many runs of the backlog start before the dispatched one; null: it does not start.
 */
export async function startsBefore(
  { jobs, clock }: Opened,
  { job, busy }: ReturnType<typeof busyJob>,
  slots: number,
  dispatch: () => PromiseLike<Run>,
): Promise<number | null> {
  await job.dispatchMany(Array.from({ length: BACKLOG }, () => ({})));
  void jobs.forever({ signals: false, parallel: slots });
  const pass = async () => {
    for (let n = busy.now; n > 0; n--) busy.release();
    await clock.advance("5ms");
  };
  while (busy.started < 500) await pass();
  const since = busy.started;
  const startedBefore = new Map<number, number>();
  jobs.on("run.started", ({ id }) => startedBefore.set(id, busy.started - since));
  const { id } = await dispatch();
  while (!startedBefore.has(id) && busy.started < BACKLOG) await pass();
  return startedBefore.get(id) ?? null;
}
