// Opens a SQLite file as a user who may not write it, and says how it went. Argument: path.
import { openStore } from "../../../src/store/open.ts";
import { openSqlite } from "../../../src/store/sqlite/open.ts";
import { systemClock } from "../../../src/time.ts";

const NOBODY = 65_534;
const [path] = process.argv.slice(2) as [string];
const options = { clock: systemClock, prefix: "punctual_" };
// Loaded while the files of this program can still be read.
await (await openSqlite(":memory:", options)).close();
if (process.getuid?.() === 0) {
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}
try {
  const store = await openStore(`sqlite:${path}`, options);
  await store.install();
  await store.beat({
    id: "w",
    host: "h",
    pid: 1,
    parallel: 1,
    queues: null,
    exceptQueues: [],
    weights: null,
    schedules: true,
    startedAt: 0,
  });
  process.stdout.write("written");
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  process.stdout.write(JSON.stringify({ code, message }));
}
