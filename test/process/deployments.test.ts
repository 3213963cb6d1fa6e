// The deployments of the guide, each with real processes of the command line.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { project, type Running, start } from "../cli/support/punctual.ts";
import { Scene } from "../faults/support/server-scene.ts";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";

const ASKED = 120;
const TICKS = 4;

/** Records each run with one write. */
const NOTE = `
import { appendFileSync } from "node:fs";
import { Job } from "punctual";
const note = (_, run) => {
  const { id, name, attempt } = run;
  const tick = run.scheduledFor.getTime();
  const entry = { server: process.env.SERVER, pid: process.pid, run: id, job: name, attempt, tick };
  appendFileSync(process.env.JOURNAL, JSON.stringify(entry) + "\\n");
};
`;
const jobFile = (asked: string, ticking: string) => `${NOTE}
Job.schedule("${asked}", note).concurrency(0);
// Missed ticks are made up for, so that none is missing.
Job.schedule("${ticking}", note).everySecond().misfire("all").concurrency(0);
`;

interface Entry {
  server: string;
  pid: number;
  run: number;
  job: string;
  attempt: number;
  tick: number;
}

interface Server {
  name: string;
  args: string[];
  /** Started again whenever it has ended, as by a crontab. */
  again?: boolean;
}

const one = (name: string, ...args: string[]): Server => ({
  name,
  args: ["work", ...args, "--jobs", "jobs/one.ts"],
});
const other = (name: string): Server => ({ name, args: ["work", "--jobs", "jobs/other.ts"] });
const crontab = (name: string): Server => ({ name, args: ["collect", "--jobs", "jobs/one.ts"], again: true });

/** Servers by deployment, and whether they share both jobs. */
const deployments: Record<string, Server[]> = {
  "a single worker": [one("a")],
  "many workers with the same jobs": [one("a"), one("b"), one("c", "--workers", "2")],
  "many workers with different jobs": [one("a"), other("b")],
  "crontabs of several servers": [crontab("a"), crontab("b")],
  "a worker beside a crontab": [one("a"), crontab("b")],
};

async function databaseOf(kind: "sqlite" | "postgres", folder: string): Promise<string> {
  if (kind === "sqlite") return `sqlite:${join(folder, "jobs.db")}`;
  const scene = await Scene.on("postgres", (await sharedServer("postgres")).url);
  onTestFinished(() => scene.clear());
  return scene.url;
}

/** Keeps a command of a server running; returns a function that ends it. */
function keep(server: Server, cwd: string, env: Record<string, string>): () => Promise<(number | null)[]> {
  const codes: (number | null)[] = [];
  let running: Running;
  let stopping = false;
  const life = (async () => {
    do {
      running = start(server.args, { cwd, env: { ...env, SERVER: server.name } });
      const { code, stderr } = await running.ended;
      codes.push(code);
      if (code !== 0) throw new Error(`${server.args.join(" ")} ended with ${code}: ${stderr}`);
    } while (server.again && !stopping);
  })();
  // Called when it is ended.
  life.catch(() => {});
  return async () => {
    stopping = true;
    if (!server.again) running.child.kill("SIGTERM");
    await life;
    return codes;
  };
}

describe.each(["sqlite", "postgres"] as const)("on %s", (kind) => {
  test.each(Object.entries(deployments))("%s: each run and each tick happens once", async (_, servers) => {
    const folder = project({
      "jobs/one.ts": jobFile("asked", "ticking"),
      "jobs/other.ts": jobFile("asked elsewhere", "ticking elsewhere"),
    });
    const url = await databaseOf(kind, folder);
    const journal = join(folder, "journal.jsonl");
    writeFileSync(journal, "");
    const entries = () =>
      readFileSync(journal, "utf8")
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Entry);
    const producer = new Punctual(url, { logger: false });
    onTestFinished(() => producer.stop());
    await producer.install();

    const isApart = servers.some(({ args }) => args.includes("jobs/other.ts"));
    const working = servers.every(({ again }) => again) ? servers : servers.filter(({ again }) => !again);
    const suffixes = isApart ? ["", " elsewhere"] : [""];
    const ends = servers.map((server) =>
      keep(server, folder, { PUNCTUAL_DATABASE_URL: url, JOURNAL: journal }),
    );
    const ids: number[] = [];
    for (const suffix of suffixes) {
      const job = producer.declare<object>(`asked${suffix}`);
      for (let batch = 0; batch < ASKED; batch += 10) {
        const runs = await job.dispatchMany(Array.from({ length: 10 }, () => ({})));
        ids.push(...runs.map(({ id }) => id));
      }
    }
    await eventually(
      () =>
        `${ids.length} runs, ${TICKS} ticks, and each server at work; got ${JSON.stringify(entries().slice(-3))}`,
      () => {
        const found = entries();
        const ofJob = (name: string) => found.filter(({ job }) => job === name).length;
        return (
          found.filter(({ job }) => job.startsWith("asked")).length >= ids.length &&
          suffixes.every((suffix) => ofJob(`ticking${suffix}`) >= TICKS) &&
          // A crontab beside a worker may find nothing to do.
          working.every(({ name }) => found.some((entry) => entry.server === name))
        );
      },
      50_000,
    );
    const codes = await Promise.all(ends.map((end) => end()));
    expect(codes.flat().every((code) => code === 0)).toBe(true);

    const found = entries();
    const asked = found.filter(({ job }) => job.startsWith("asked")).map(({ run }) => run);
    expect(asked.sort((a, b) => a - b)).toEqual(ids.sort((a, b) => a - b));
    expect(found.filter(({ attempt }) => attempt !== 1)).toEqual([]);
    for (const suffix of suffixes) {
      const ticks = found.filter(({ job }) => job === `ticking${suffix}`).map(({ tick }) => tick);
      const [first, last] = [Math.min(...ticks), Math.max(...ticks)];
      const all = Array.from({ length: (last - first) / 1000 + 1 }, (_, second) => first + second * 1000);
      expect(ticks.sort((a, b) => a - b)).toEqual(all);
    }
    if (isApart) {
      const wrong = found.filter(({ server, job }) => (server === "b") !== job.endsWith("elsewhere"));
      expect(wrong).toEqual([]);
    }
  });
});
