import { inGroups, type Payload, type Settings, type System } from "../lib/system.ts";
import { BenchJob, handler } from "./sidequest-job.ts";

interface Sidequest {
  configure(config: object): Promise<unknown>;
  start(config: object): Promise<void>;
  build(job: unknown): { enqueue(payload: Payload): Promise<unknown> };
}

/** Handlers in the worker's own process, as those of the others, and the dispatcher's shortest sensible sleep. */
export const tuned: Settings = { maxConcurrentJobs: 50, jobPollingInterval: 10, concurrency: 50 };

export async function open(url: string, { concurrency = 10, ...options }: Settings): Promise<System> {
  const name: string = "sidequest";
  const { Sidequest } = (await import(name)) as { Sidequest: Sidequest };
  const postgres = url.startsWith("postgres");
  const config = {
    backend: {
      driver: `@sidequest/${postgres ? "postgres" : "mysql"}-backend`,
      config: url.replace(/^mariadb/, "mysql"),
    },
    logger: { level: "error" },
    dashboard: { enabled: false },
    fork: false,
    runner: "inline",
    gracefulShutdown: false,
    queues: [{ name: "default", concurrency }],
    ...options,
  };
  await Sidequest.configure(config);
  const dispatch = (payload: Payload) => Sidequest.build(BenchJob).enqueue(payload);
  return {
    install: async () => {},
    // It has no insert in bulk.
    fill: (count) => inGroups(count, 10, (payloads) => Promise.all(payloads.map(dispatch))),
    dispatch,
    async work(handle) {
      handler.current = handle;
      await Sidequest.start({ ...config, skipMigration: true });
    },
  };
}
