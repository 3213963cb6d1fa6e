import { inGroups, type Payload, type Settings, type System } from "../lib/system.ts";

interface Plainjob {
  better(database: unknown): unknown;
  defineQueue(options: object): {
    add(type: string, data: Payload): unknown;
    addMany(type: string, data: Payload[]): unknown;
  };
  defineWorker(
    type: string,
    handler: (job: { data: string }) => Promise<void>,
    options: object,
  ): { start(): Promise<void> };
}

const quiet = { debug() {}, info() {}, warn() {}, error: console.error };

/** Its worker polls each second by default; `pollIntervall` is its own spelling. */
export const tuned: Settings = { pollIntervall: 10 };

export async function open(url: string, options: Settings): Promise<System> {
  const [name, driver]: string[] = ["plainjob", "better-sqlite3"];
  const { better, defineQueue, defineWorker } = (await import(name!)) as Plainjob;
  const { default: Database } = (await import(driver!)) as {
    default: new (file: string) => { pragma(text: string): void };
  };
  const [file, query] = url.slice("sqlite:".length).split("?") as [string, string?];
  const database = new Database(file);
  const queue = defineQueue({ connection: better(database), logger: quiet });
  // After the queue, which sets its own.
  database.pragma(`synchronous = ${new URLSearchParams(query).get("synchronous") ?? "full"}`);
  return {
    install: async () => {},
    fill: (count) => inGroups(count, 10_000, async (payloads) => queue.addMany("bench", payloads)),
    dispatch: async (payload) => queue.add("bench", payload),
    async work(handle) {
      const worker = defineWorker("bench", async ({ data }) => handle(JSON.parse(data) as Payload), {
        queue,
        logger: quiet,
        ...options,
      });
      void worker.start();
    },
  };
}
