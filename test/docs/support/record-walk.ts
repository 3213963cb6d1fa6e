// Prints the source files whose code one dispatch, one tick or one run of a worker executes, as JSON. Arguments: what
// to record, and the URL of an empty database. V8's precise coverage counts calls, so nothing depends on reading the
// code.
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Punctual } from "../../../src/index.ts";
import { TestClock } from "../../../src/testing/index.ts";

const source = fileURLToPath(new URL("../../../src/", import.meta.url));
const [what, url] = process.argv.slice(2) as ["dispatch" | "exchange" | "tick", string];

const session = new Session();
session.connect();

async function filesCalledBy(work: () => Promise<unknown>): Promise<string[]> {
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const called = result.filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== "" && ranges[0]!.count > 0),
  );
  return called
    .map((script) =>
      relative(source, script.url.startsWith("file:") ? fileURLToPath(script.url) : script.url),
    )
    .filter((file) => !file.startsWith(".."))
    .sort();
}

const recorders = {
  async dispatch() {
    const jobs = new Punctual(url, { logger: false });
    const email = jobs.define("email", async () => {}).concurrency(0);
    await jobs.install();
    await email.dispatch({ to: "ada" });
    const files = await filesCalledBy(async () => void (await email.dispatch({ to: "grace" })));
    await jobs.stop();
    return files;
  },
  /** Two runs one after the other: the exchange that claims the second settles the first. */
  async exchange() {
    const jobs = new Punctual(url, { logger: false });
    const email = jobs.define("email", async () => {});
    await jobs.install();
    await email.dispatchMany([{}, {}]);
    const files = await filesCalledBy(async () => void (await jobs.run({ batch: 1, parallel: 1 })));
    await jobs.stop();
    return files;
  },
  async tick() {
    const clock = new TestClock("2030-01-01T00:00:00Z");
    const jobs = new Punctual(url, { logger: false, clock });
    jobs.define("report", async () => {}).everyMinute();
    await jobs.install();
    await jobs.run();
    await clock.advance("1m");
    const files = await filesCalledBy(async () => void (await jobs.run()));
    await jobs.stop();
    return files;
  },
};

console.log(JSON.stringify(await recorders[what]()));
