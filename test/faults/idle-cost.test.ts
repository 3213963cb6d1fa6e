import { expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { TestClock } from "../../src/testing/index.ts";
import { sleepReal } from "../../src/time.ts";
import { connections } from "../docs/support/statement-recorder.ts";
import { sharedServer } from "../servers/shared.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

const JOBS = 300;
const STEP = 500;
const SECONDS = 300;

/** MySQL and MariaDB are polled for changes too, four times a second; the clock of this test has no such polls. */
const MOST_A_SECOND = 2;

onEachServer((kind) => {
  test(`a worker with ${JOBS} jobs and nothing to do sends at most ${MOST_A_SECOND} statements a second`, async () => {
    const scene = await Scene.on(kind, (await sharedServer(kind)).url);
    const sent: string[] = [];
    const { handle, end } = connections[kind](scene.url, ({ text }) => sent.push(text));
    const clock = new TestClock();
    const jobs = new Punctual(handle, { clock, logger: false });
    for (let n = 0; n < JOBS; n++) jobs.schedule(`job-${n}`, () => {}).yearly();
    /** Lets time pass as slowly as the server answers. */
    const pass = async (seconds: number) => {
      for (let step = 0; step < (seconds * 1000) / STEP; step++) {
        await clock.advance(`${STEP}ms`);
        for (let before = -1; before !== sent.length; await sleepReal(3)) before = sent.length;
      }
    };
    const started = new Promise((resolve) => jobs.on("worker.started", resolve));
    // As a worker sleeps that the server wakes.
    void jobs.forever({ signals: false, sleep: "1.5s" });
    await started;
    await pass(70);
    sent.length = 0;
    await pass(SECONDS);
    const rate = sent.length / SECONDS;
    expect(rate, JSON.stringify(counted(sent), null, 1)).toBeLessThanOrEqual(MOST_A_SECOND);
    // The polls alone.
    expect(rate).toBeGreaterThan(0.5);
    expect(sent.filter((text) => /^(update|insert|delete)/.test(text) && text.includes("_jobs"))).toEqual([]);
    await jobs.stop();
    await end();
    await scene.clear();
  });
});

/** How often each statement was sent, for a test that fails. */
function counted(sent: string[]): Record<string, number> {
  const groups = Object.entries(Object.groupBy(sent, (text) => text.replace(/\s+/g, " ").slice(0, 90)));
  return Object.fromEntries(groups.map(([text, all]) => [text, all!.length]));
}
