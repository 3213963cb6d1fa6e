import type { Store, SyncResult } from "../../../src/store/store.ts";
import type { TestClock } from "../../../src/testing/clock.ts";
import { minutely, tick } from "../../conformance/support/minutely.ts";
import {
  beat,
  cap,
  claimRequest,
  define,
  exchange,
  type JobFields,
  newRun,
  settlement,
  times,
} from "../../conformance/support/requests.ts";
import type { RecordedStatement, RecordingStore } from "./statement-recorder.ts";

/** One call of the store, and what it sent to the database. */
export interface Scene {
  title: string;
  statements: RecordedStatement[];
}

type Scenes = (recording: RecordingStore, clock: TestClock) => Promise<Scene[]>;

const MANY = 70;

/** Defines jobs with fixed fingerprints: no value in a golden file may depend on the tests before it. */
function defineJobs(
  store: Store,
  jobs: JobFields[],
  queues: { name: string; limit: number }[] = [],
): Promise<SyncResult> {
  const fixed = jobs.map((job) => ({ fingerprint: `${job.name} 1`, ...job }));
  return define(store, fixed, { startedAt: 1, queues });
}

function claim(store: Store, token: string) {
  return exchange(store, { seq: 1, claim: claimRequest({ token, limit: 2 }) });
}

async function insert({ store, record, announcement }: RecordingStore): Promise<Scene[]> {
  const unique = { key: "report|2026-01", until: "finished" as const, for: 0 };
  const scenes = [
    {
      title: "Two runs of a job; the second one is due in a minute.",
      statements: await record(() =>
        store.insert([
          newRun({ name: "email", args: '["ada"]' }),
          newRun({ name: "email", args: '["bob"]', delay: 60_000 }),
        ]),
      ),
    },
    {
      title: "A run with a unique key.",
      statements: await record(() => store.insert([newRun({ name: "report", unique })])),
    },
  ];
  if (!announcement) return scenes;
  return [...scenes, { title: "In the background, after an insert.", statements: [await announcement] }];
}

async function claimScenes({ store, record }: RecordingStore, clock: TestClock): Promise<Scene[]> {
  await defineJobs(
    store,
    [{ name: "email" }, { name: "report", limit: 2, keyLimit: 1 }],
    [{ name: "slow", limit: 10 }],
  );
  const scenes: Scene[] = [];
  const add = async (title: string, token: string) => {
    scenes.push({ title, statements: await record(() => claim(store, token)) });
  };
  await add("Nothing is ready: an idle worker.", "token-1");
  await store.insert([newRun({ name: "email", args: '["ada"]' })]);
  await add("One run is ready; no limit holds it.", "token-2");
  await beat(store, "w1");
  await store.insert([newRun({ name: "email" })]);
  const announced = claimRequest({ token: "token-6", immediate: true });
  scenes.push({
    title: "A run was announced to an idle worker.",
    statements: await record(() => exchange(store, { seq: 2, claim: announced })),
  });
  await store.insert([newRun({ name: "report", key: "ada", queue: "slow" })]);
  await add("One run is ready, under limits of its job, its key and its queue.", "token-3");
  await store.insert([newRun({ name: "email", delay: 60_000 })]);
  await clock.advance(60);
  await add("A scheduled run has become due.", "token-4");
  const blocked = times(MANY, () => newRun({ name: "report", key: "ada", queue: "slow" }));
  await store.insert([...blocked, newRun({ name: "report", key: "bob", queue: "slow" })]);
  await add(
    "A run waits behind 70 runs of a key that is at its limit: the claim walks the lanes.",
    "token-5",
  );
  return scenes;
}

async function settle({ store, record }: RecordingStore): Promise<Scene[]> {
  await defineJobs(store, [{ name: "email" }]);
  await beat(store, "w1");
  await store.insert(times(4, () => newRun({ name: "email" })));
  const { claimed } = await exchange(store, { seq: 1, claim: claimRequest({ token: "token-1" }) });
  const [first, second, third, fourth] = claimed;
  const error = '{"name":"Error","message":"refused"}';
  const ends = [
    { title: "A run is completed.", end: settlement(first!, "completed", { result: "42" }) },
    {
      title: "A run is completed, and its job keeps no history.",
      end: settlement(second!, "completed", { keep: 0 }),
    },
    {
      title: "An attempt failed; the run is retried in 30 seconds.",
      end: settlement(third!, "retried", { error, fingerprint: "f1", delay: 30_000 }),
    },
    {
      title: "The last attempt of a run failed.",
      end: settlement(fourth!, "failed", { error, fingerprint: "f1" }),
    },
  ];
  const scenes: Scene[] = [];
  for (const [index, { title, end }] of ends.entries()) {
    scenes.push({
      title,
      statements: await record(() => exchange(store, { seq: 2 + index, settle: [end] })),
    });
  }
  return scenes;
}

async function tickScenes({ store, record }: RecordingStore, clock: TestClock): Promise<Scene[]> {
  await defineJobs(store, [{ name: "cleanup", schedules: [minutely()] }]);
  const early = await record(() => tick(store));
  await clock.advance(60);
  const due = await record(() => tick(store));
  return [
    { title: "No schedule is due.", statements: early },
    { title: "One schedule is due.", statements: due },
  ];
}

async function reap({ store, record }: RecordingStore, clock: TestClock): Promise<Scene[]> {
  await defineJobs(store, [{ name: "email" }]);
  await store.insert([newRun({ name: "email" })]);
  const reapAll = () => store.reap(1000, cap(2), '{"name":"Error","message":"crashed"}', null);
  const idle = await record(reapAll);
  await claim(store, "token-1");
  await clock.advance(61);
  const crashed = await record(reapAll);
  const { claimed } = await claim(store, "token-2");
  await store.start(claimed[0]!, true);
  await clock.advance(61);
  const ended = await record(reapAll);
  return [
    { title: "No lease has ended.", statements: idle },
    { title: "The lease of a run has ended; the run becomes ready again.", statements: crashed },
    { title: "The lease has ended once more; the run has crashed too often and fails.", statements: ended },
  ];
}

/** Contents of each golden file. */
export const operations: Record<"insert" | "claim" | "settle" | "tick" | "reap", Scenes> = {
  insert,
  claim: claimScenes,
  settle,
  tick: tickScenes,
  reap,
};
