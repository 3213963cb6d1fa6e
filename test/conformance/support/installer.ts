// One of several processes that start together on a new database. Argument: URL. Says how many statements it ran.
import { openStore } from "../../../src/store/open.ts";
import { systemClock } from "../../../src/time.ts";

const [url] = process.argv.slice(2) as [string];
const store = await openStore(url, { clock: systemClock, prefix: "punctual_" });
const { statements } = await store.install();
await store.checkSchema();
await store.close();
process.stdout.write(String(statements.length));
