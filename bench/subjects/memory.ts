// Resident memory of a worker that drains a backlog, started by its command line.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import type { Bench, Setup } from "../lib/bench.ts";
import type { Contest, Entry } from "../lib/contest.ts";
import { moduleOf, tunedSettings } from "../lib/peers.ts";
import { quantile } from "../lib/statistics.ts";
import { residentOf } from "../lib/usage.ts";

/** A project folder: its files by path. */
type Files = Record<string, string>;

interface Command {
  files: Files;
  /** A file that Node starts, and its arguments. */
  args: string[];
}

/** A handler that ends its process with the last run. */
const handler = (count: number) => `let ran = 0;
const handler = async () => { if (++ran === ${count}) process.exit(0); };
`;

function punctualWork(built: string, url: string, count: number): Command {
  const source = pathToFileURL(join(built, "index.js")).href;
  const define = `new Punctual(${JSON.stringify(url)}).schedule("bench", handler).concurrency(0);`;
  return {
    files: { "jobs/bench.mjs": `import { Punctual } from "${source}";\n${handler(count)}${define}\n` },
    args: [join(built, "cli/main.js"), "work"],
  };
}

async function graphileWorker(url: string, count: number): Promise<Command> {
  const preset = { worker: await tunedSettings("graphile-worker") };
  return {
    files: {
      "tasks/bench.mjs": `${handler(count)}export default handler;\n`,
      "graphile.config.mjs": `export default ${JSON.stringify(preset)};\n`,
    },
    args: [
      join(moduleOf("graphile-worker"), "../node_modules/graphile-worker/dist/cli.js"),
      "--connection",
      url,
    ],
  };
}

/** Runs the command in a folder of its own until it ends; the samples are of the time in which it works. */
async function residentDuring({ files, args }: Command): Promise<{ typical: number; most: number }> {
  const folder = mkdtempSync(join(tmpdir(), "punctual-bench-"));
  try {
    writeFileSync(join(folder, "package.json"), `{"type":"module"}`);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
    const said = text(child.stderr);
    const samples: number[] = [];
    const timer = setInterval(() => samples.push(residentOf(child.pid!) ?? 0), 20);
    const [code] = await once(child, "exit");
    clearInterval(timer);
    if (code !== 0) throw new Error(`${args.join(" ")} ended with code ${code}: ${await said}`);
    return { typical: quantile(samples, 0.5), most: Math.max(...samples) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function contests(bench: Bench): Promise<Contest[]> {
  if (!bench.isPresent("postgres") || !existsSync("/proc/self/status")) return [];
  const count = bench.pick(100_000, 1_000);
  const entry = (
    setup: Setup,
    name: string,
    command: (url: string) => Command | Promise<Command>,
  ): Entry => ({
    name,
    measure: () =>
      bench.usingBacklog(setup, count, async ({ url }) => ({
        ...(await residentDuring(await command(url))),
      })),
  });
  const graphile = await bench.peer("graphile-worker", "postgres", "tuned");
  const name = "graphile-worker, its command line";
  return [
    {
      id: "memory",
      title: `Resident memory while draining ${count.toLocaleString("en")} runs, PostgreSQL`,
      metrics: [
        { name: "most", unit: "MB" },
        { name: "typical", unit: "MB" },
      ],
      base: name,
      entries: [
        ...bench.punctual("postgres").map((setup, index) => {
          const { folder, label } = bench.builds[index]!;
          return entry(setup, `punctual work${label}`, (url) => punctualWork(folder, url, count));
        }),
        ...graphile.map((setup) => entry(setup, name, (url) => graphileWorker(url, count))),
      ],
      goals: [{ entry: "punctual work", metric: "most", most: 150 }],
    },
  ];
}
