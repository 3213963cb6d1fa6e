import { afterEach, expect } from "vitest";
import { type EventName, type Events, Punctual, type PunctualOptions } from "../../../src/index.ts";
import { TestClock } from "../../../src/testing/index.ts";

export interface Opened {
  jobs: Punctual;
  clock: TestClock;
  /** Errors that were emitted as `error`. A test that expects errors removes them with `splice(0)`. */
  errors: Events["error"][];
}

const opened: Opened[] = [];

/** An instance in memory on a test clock, stopped after the test. The test fails if an error was not removed. */
export function open(
  options: Omit<PunctualOptions, "clock"> & { clock?: TestClock } = {},
  source: string | object = "sqlite::memory:",
): Opened {
  const clock = options.clock ?? new TestClock();
  const jobs = new Punctual(source, { logger: false, ...options, clock });
  const errors: Events["error"][] = [];
  jobs.on("error", (event) => errors.push(event));
  const one = { jobs, clock, errors };
  opened.push(one);
  return one;
}

/** Stops, and advances the clock as long as handlers need that ignore their signal. */
export async function stopped({ jobs, clock }: Pick<Opened, "jobs" | "clock">): Promise<void> {
  let done = false;
  const stopping = jobs.stop().finally(() => {
    done = true;
  });
  for (let seconds = 0; !done && seconds < 120; seconds++) await clock.advance(1);
  if (!done) throw new Error("stop() has not ended after two minutes");
  await stopping;
}

afterEach(async () => {
  const all = opened.splice(0);
  for (const one of all) await stopped(one);
  for (const { errors } of all) expect(errors).toEqual([]);
});

/** The next event of this name that satisfies the condition, if there is one. */
export function heard<Name extends EventName>(
  jobs: Punctual,
  name: Name,
  fits: (event: Events[Name]) => boolean = () => true,
): Promise<Events[Name]> {
  return new Promise((resolve) => {
    const off = jobs.on(name, (event) => {
      if (!fits(event)) return;
      off();
      resolve(event);
    });
  });
}

/** All events of this name from now on. */
export function listen<Name extends EventName>(jobs: Punctual, name: Name): Events[Name][] {
  const events: Events[Name][] = [];
  jobs.on(name, (event) => events.push(event));
  return events;
}
