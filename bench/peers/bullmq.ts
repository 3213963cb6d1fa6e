import { inGroups, type Payload, type Settings, type System } from "../lib/system.ts";

interface BullMq {
  Queue: new (
    name: string,
    options: object,
  ) => {
    add(name: string, data: Payload): Promise<unknown>;
    addBulk(jobs: { name: string; data: Payload }[]): Promise<unknown>;
  };
  Worker: new (name: string, handler: (job: { data: Payload }) => Promise<void>, options: object) => unknown;
}

/** Its documentation advises 100 to 300 for handlers that wait rather than compute. */
export const tuned: Settings = { concurrency: 100 };

export async function open(url: string, options: Settings): Promise<System> {
  const name: string = "bullmq";
  const { Queue, Worker } = (await import(name)) as BullMq;
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue("bench", { connection });
  return {
    install: async () => {},
    fill: (count) =>
      inGroups(count, 5_000, (payloads) => queue.addBulk(payloads.map((data) => ({ name: "bench", data })))),
    dispatch: (payload) => queue.add("bench", payload),
    async work(handle) {
      new Worker("bench", async ({ data }) => handle(data), { connection, ...options });
    },
  };
}
