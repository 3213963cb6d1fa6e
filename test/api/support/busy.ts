import type { Definition } from "../../../src/index.ts";
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
