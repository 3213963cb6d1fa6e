import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { behindProxy } from "./support/behind-proxy.ts";
import { onEachServer } from "./support/kinds.ts";

const RUNS = 600;

onEachServer((kind) => {
  const at = behindProxy(kind);

  test("exchanges have more runs if the server is farther away", async () => {
    const jobs = at.scene.punctual();
    const job = jobs.schedule("short", () => sleep(5)).concurrency(0);
    await job.dispatchMany(Array.from({ length: RUNS }, () => ({})));
    at.proxy.delay(25);
    const working = jobs.forever({ signals: false, parallel: 10 });
    await at.scene.untilDrained();
    const [last] = await at.scene.sql("select max(seq) as number from punctual_exchanges");
    expect(Number(last!.number)).toBeLessThan(RUNS / 20);
    expect(await at.scene.history()).toHaveLength(RUNS);
    await jobs.stop();
    expect(await working).toBe(RUNS);
  });
});
