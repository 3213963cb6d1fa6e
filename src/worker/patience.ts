import type { Emitter } from "../observe/events.ts";
import { type Clock, sleep } from "../time.ts";

const FIRST_WAIT = 50;
const LONGEST_WAIT = 5000;

/** Waits before what the database has not answered is sent again: longer each time, and not all workers at the same moment. */
export function beforeTrying(clock: Clock, triesBefore: number): Promise<void> {
  const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(triesBefore, 10));
  return sleep(clock, wait * (0.5 + Math.random() / 2));
}

/** Asks until there is an answer, however long the database is away: a worker that gave up would leave its runs to their leases. */
export async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  during: string,
  { clock, events }: { clock: Clock; events: Emitter },
): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      events.report(error, during);
      await beforeTrying(clock, tries);
    }
  }
}
