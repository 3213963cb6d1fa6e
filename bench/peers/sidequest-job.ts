import type { Payload } from "../lib/system.ts";

const name: string = "sidequest";
const sidequest = (await import(name)) as { Job: new () => object };

/** The function that a run of the job calls, if it runs in the worker's own process. */
export const handler: { current(payload: Payload): void } = { current() {} };

export class BenchJob extends sidequest.Job {
  run(payload: Payload): void {
    handler.current(payload);
  }
}
