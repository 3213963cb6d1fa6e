import { type Measured, perSecond } from "../shared/rounds.ts";

interface GraphileWorker {
  Logger: new (factory: () => () => void) => unknown;
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    addJob(identifier: string, payload: unknown): Promise<unknown>;
    addJobs(jobs: { identifier: string; payload: unknown }[]): Promise<unknown>;
    release(): Promise<void>;
  }>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
}

const payload = { text: "x".repeat(88) };

/** The way its documentation gives for throughput. */
export const tuned: object = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

async function load(): Promise<GraphileWorker> {
  const name: string = "graphile-worker";
  return (await import(name)) as GraphileWorker;
}

export async function drain(
  url: string,
  runs: number,
  concurrentJobs: number,
  preset: object = {},
): Promise<Measured> {
  const { Logger, makeWorkerUtils, run } = await load();
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  let since = performance.now();
  await utils.addJobs(Array.from({ length: runs }, () => ({ identifier: "bench", payload })));
  const bulk = perSecond(runs, since);
  const finished = Promise.withResolvers<void>();
  let ran = 0;
  const bench = async () => {
    if (++ran === runs) finished.resolve();
  };
  since = performance.now();
  const worker = { connectionString: url, concurrentJobs, ...preset };
  const runner = await run({ logger, noHandleSignals: true, taskList: { bench }, preset: { worker } });
  await finished.promise;
  const drained = perSecond(runs, since);
  await runner.stop();
  await utils.release();
  return { bulk, drain: drained };
}

export async function dispatchOneByOne(url: string, count: number): Promise<Measured> {
  const { Logger, makeWorkerUtils } = await load();
  const utils = await makeWorkerUtils({ connectionString: url, logger: new Logger(() => () => {}) });
  await utils.migrate();
  await utils.addJob("bench", payload);
  const since = performance.now();
  for (let sent = 0; sent < count; sent++) await utils.addJob("bench", payload);
  const dispatch = perSecond(count, since);
  await utils.release();
  return { dispatch };
}
