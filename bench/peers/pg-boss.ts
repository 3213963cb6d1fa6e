import { type Measured, perSecond } from "../shared/rounds.ts";

interface Boss {
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  on(event: "error", listener: (error: unknown) => void): void;
  createQueue(name: string): Promise<unknown>;
  send(name: string, data: object): Promise<unknown>;
  insert(name: string, jobs: { data: object }[]): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: unknown[]) => Promise<void>): Promise<unknown>;
}

const payload = { text: "x".repeat(88) };

async function start(url: string): Promise<Boss> {
  const name: string = "pg-boss";
  const { PgBoss } = (await import(name)) as { PgBoss: new (url: string) => Boss };
  const boss = new PgBoss(url);
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue("bench");
  return boss;
}

/** In batches, each fetched as soon as the one before it was full: otherwise it rests for seconds after each. */
export async function drain(url: string, runs: number): Promise<Measured> {
  const boss = await start(url);
  let since = performance.now();
  await boss.insert(
    "bench",
    Array.from({ length: runs }, () => ({ data: payload })),
  );
  const bulk = perSecond(runs, since);
  const finished = Promise.withResolvers<void>();
  let ran = 0;
  since = performance.now();
  const options = { batchSize: 500, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
  await boss.work("bench", options, async (jobs) => {
    ran += jobs.length;
    if (ran >= runs) finished.resolve();
  });
  await finished.promise;
  const drained = perSecond(runs, since);
  await boss.stop({ graceful: false });
  return { bulk, drain: drained };
}

export async function dispatchOneByOne(url: string, count: number): Promise<Measured> {
  const boss = await start(url);
  await boss.send("bench", payload);
  const since = performance.now();
  for (let sent = 0; sent < count; sent++) await boss.send("bench", payload);
  const dispatch = perSecond(count, since);
  await boss.stop({ graceful: false });
  return { dispatch };
}
