import type { Payload } from "../lib/system.ts";

const name: string = "sidequest";
const sidequest = (await import(name)) as { Job: new () => object };

/** What a run of the job calls, where it runs in the worker's own process. */
export const handler: { current(payload: Payload): void } = { current() {} };

export class BenchJob extends sidequest.Job {
  run(payload: Payload): void {
    handler.current(payload);
  }
}
