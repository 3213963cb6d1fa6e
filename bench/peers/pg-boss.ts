import { inGroups, type Payload, type Settings, type System } from "../lib/system.ts";

interface Boss {
  start(): Promise<unknown>;
  on(event: "error", listener: (error: unknown) => void): void;
  createQueue(name: string, options: object): Promise<unknown>;
  send(name: string, data: Payload): Promise<unknown>;
  insert(name: string, jobs: { data: Payload }[]): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (jobs: { data: Payload }[]) => Promise<void>,
  ): Promise<unknown>;
}

/** Batches, each fetched as soon as the one before it was full, and wake-ups by NOTIFY. */
export const tuned: Settings = {
  notify: true,
  work: { batchSize: 500, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
};

export async function open(url: string, { notify = false, work = {} }: Settings): Promise<System> {
  const name: string = "pg-boss";
  const { PgBoss } = (await import(name)) as { PgBoss: new (options: object) => Boss };
  const boss = new PgBoss({ connectionString: url, useListenNotify: notify });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return {
    install: async () => void (await boss.createQueue("bench", { notify })),
    fill: (count) =>
      inGroups(count, 10_000, (payloads) =>
        boss.insert(
          "bench",
          payloads.map((data) => ({ data })),
        ),
      ),
    dispatch: (payload) => boss.send("bench", payload),
    async work(handle) {
      await boss.work("bench", work as object, async (jobs) => {
        for (const { data } of jobs) handle(data);
      });
    },
  };
}
