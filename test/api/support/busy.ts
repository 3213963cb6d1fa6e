import type { Definition } from "../../../src/index.ts";
import type { Opened } from "./instance.ts";

export interface Busy {
  /** How many run at this moment, and how many ever did at once. */
  now: number;
  most: number;
  started: number;
  /** Lets one of them end. */
  release(): void;
}

/** A job whose runs go on until they are released. */
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
