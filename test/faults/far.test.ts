import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startProxy, type TestProxy } from "../servers/proxy.ts";
import { sharedServer } from "../servers/shared.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

const RUNS = 600;

onEachServer((kind) => {
  let proxy: TestProxy;
  let scene: Scene;

  beforeEach(async () => {
    const { url } = await sharedServer(kind);
    proxy = await startProxy(Number(new URL(url).port), new URL(url).hostname);
    scene = await Scene.on(kind, url, { through: (to) => proxy.url(to) });
  });
  afterEach(async () => {
    await scene.clear();
    await proxy.close();
  });

  test("the farther a server is, the more runs go in one exchange", async () => {
    const jobs = scene.punctual();
    const job = jobs.schedule("short", () => sleep(5)).concurrency(0);
    await job.dispatchMany(Array.from({ length: RUNS }, () => ({})));
    proxy.delay(25);
    const working = jobs.forever({ signals: false, parallel: 10 });
    await scene.untilDrained();
    const [worker] = await scene.sql("select settle_seq as exchanges from punctual_workers");
    expect(Number(worker!.exchanges)).toBeLessThan(RUNS / 20);
    expect(await scene.history()).toHaveLength(RUNS);
    await jobs.stop();
    expect(await working).toBe(RUNS);
  });
});
