import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { systemClock } from "../../src/time.ts";
import { DECLARED, declare, insertOne } from "../conformance/support/requests.ts";
import { sharedServer } from "../servers/shared.ts";
import { type Interruption, openInterrupted } from "./support/between.ts";
import { onEachServer } from "./support/kinds.ts";
import { Scene } from "./support/server-scene.ts";

onEachServer((kind) => {
  test("a job that is dispatched while prune() deletes it is kept", async () => {
    const scene = await Scene.on(kind, (await sharedServer(kind)).url);
    onTestFinished(() => scene.clear());
    const other = await openStore(scene.url, { clock: systemClock, prefix: "punctual_" });
    onTestFinished(() => other.close());
    const left: Interruption[] = [];
    const store = await openInterrupted(scene.url, left);
    onTestFinished(() => store.close());
    await declare(other, "gone");
    left.push({
      before: /^select j\.name from punctual_jobs/,
      act: () => insertOne(other, { name: "gone", job: DECLARED }),
    });
    // Simulates a job that was declared long ago.
    const request = {
      job: "gone",
      jobsUnseenFor: -60_000,
      orphansOlderThan: null,
      finishedFor: null,
      batch: 10,
    };
    expect(await store.prune(request)).toMatchObject({ jobs: 0 });
    expect(left).toEqual([]);
    expect(await other.jobNames()).toEqual(["gone"]);
    await store.prune({ ...request, orphansOlderThan: -60_000 });
    expect(await other.jobNames()).toEqual([]);
  });
});
