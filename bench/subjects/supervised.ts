// Handlers in child processes beside handlers in the worker's own process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Bench } from "../lib/bench.ts";
import type { Contest } from "../lib/contest.ts";

const program = fileURLToPath(new URL("../lib/supervised.ts", import.meta.url));

async function rate(...args: string[]): Promise<number> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  if (code !== 0) throw new Error(`The supervised program ended with code ${code}.`);
  return Number(printed);
}

export async function contests(bench: Bench): Promise<Contest[]> {
  const count = bench.pick(30_000, 500);
  const here = (["postgres", "sqlite"] as const).filter((on) => bench.isPresent(on));
  return here.map((on): Contest => {
    const setups = bench.punctual(on);
    const named = (label: string, mode: string) => `Punctual${label}, ${mode}()`;
    return {
      id: `supervised-${on}`,
      title: `No-op runs in two child processes, ${on === "sqlite" ? "SQLite" : "PostgreSQL"}`,
      metrics: [{ name: "rate", unit: "runs/s" }],
      base: named("", "forever"),
      entries: setups.flatMap((setup, index) => {
        const { folder, label } = bench.builds[index]!;
        return (["forever", "supervise"] as const).map((mode) => ({
          name: named(label, mode),
          measure: () =>
            bench.usingBacklog(setup, count, async ({ url }) => ({
              rate: await rate(folder, url, String(count), mode),
            })),
        }));
      }),
      goals: [{ entry: named("", "supervise"), metric: "rate", versus: named("", "forever"), least: 0.67 }],
    };
  });
}
