// The worker process of bench/latency.ts: reports, for each run, how long ago its dispatch was called.
import { join } from "node:path";

export interface Sender {
  send(at: number): Promise<unknown>;
  end(): Promise<unknown>;
}

interface Punctual {
  new (
    url: string,
    options: object,
  ): {
    install(): Promise<unknown>;
    stop(): Promise<unknown>;
    schedule(
      name: string,
      handler: (at: number) => void,
    ): { concurrency(limit: number): { dispatch(at: number): Promise<unknown> } };
    forever(options: object): Promise<unknown>;
    on(event: string, listener: () => void): unknown;
  };
}

const since = (at: number) => Number(process.hrtime.bigint()) / 1e6 - at;

async function loadPunctual(folder: string): Promise<Punctual> {
  return ((await import(join(folder, "src/index.ts"))) as { Punctual: Punctual }).Punctual;
}

async function loadGraphile() {
  const name: string = "../peers/node_modules/graphile-worker/dist/index.js";
  const { Logger, makeWorkerUtils, run } = await import(name);
  return { logger: new Logger(() => () => {}), makeWorkerUtils, run };
}

/** Opens the dispatching side. */
export async function openSender(source: string, url: string): Promise<Sender> {
  if (source === "graphile-worker") {
    const { logger, makeWorkerUtils } = await loadGraphile();
    const utils = await makeWorkerUtils({ connectionString: url, logger });
    await utils.migrate();
    return { send: (at) => utils.addJob("bench", { at }), end: () => utils.release() };
  }
  const jobs = new (await loadPunctual(source))(url, { logger: false });
  await jobs.install();
  const job = jobs.schedule("bench", () => {}).concurrency(0);
  return { send: (at) => job.dispatch(at), end: () => jobs.stop() };
}

async function work(source: string, url: string): Promise<void> {
  const report = (at: number) => void process.send!(since(at));
  if (source === "graphile-worker") {
    const { logger, run } = await loadGraphile();
    const taskList = { bench: ({ at }: { at: number }) => report(at) };
    const preset = { worker: { connectionString: url, concurrentJobs: 10 } };
    await run({ logger, noHandleSignals: true, taskList, preset });
    process.send!("ready");
    return;
  }
  const jobs = new (await loadPunctual(source))(url, { logger: false });
  jobs.schedule("bench", report).concurrency(0);
  jobs.on("worker.started", () => process.send!("ready"));
  await jobs.forever({ signals: false });
}

if (process.send && process.argv.length > 3) await work(process.argv[2]!, process.argv[3]!);
