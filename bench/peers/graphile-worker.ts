import { inGroups, type Payload, type Settings, type System } from "../lib/system.ts";

interface GraphileWorker {
  Logger: new (factory: () => () => void) => unknown;
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    addJob(identifier: string, payload: Payload): Promise<unknown>;
    addJobs(jobs: { identifier: string; payload: Payload }[]): Promise<unknown>;
  }>;
  run(options: object): Promise<unknown>;
}

/** The configuration that its documentation gives for throughput. */
export const tuned: Settings = {
  concurrentJobs: 10,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

export async function open(url: string, worker: Settings): Promise<System> {
  const name: string = "graphile-worker";
  const { Logger, makeWorkerUtils, run } = (await import(name)) as GraphileWorker;
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  return {
    install: () => utils.migrate(),
    fill: (count) =>
      inGroups(count, 10_000, (payloads) =>
        utils.addJobs(payloads.map((payload) => ({ identifier: "bench", payload }))),
      ),
    dispatch: (payload) => utils.addJob("bench", payload),
    async work(handle) {
      const bench = async (payload: unknown) => handle(payload as Payload);
      const preset = { worker: { connectionString: url, ...worker } };
      await run({ logger, noHandleSignals: true, taskList: { bench }, preset });
    },
  };
}
