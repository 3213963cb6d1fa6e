// The package as a user gets it: packed, installed into an empty folder, and used from the first command to the last.
import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Ended, Running } from "../cli/support/punctual.ts";
import { Scene } from "../faults/support/server-scene.ts";
import { sharedServer } from "../servers/shared.ts";
import { eventually } from "../support/eventually.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "punctual-package-"));
const PATIENCE = 180_000;
let tarball: string;

const { PUNCTUAL_DATABASE_URL: _, NODE_OPTIONS: __, ...inherited } = process.env;
// Before the machine's own Node, which may be too old.
const PATH = [dirname(process.execPath), inherited.PATH].join(delimiter);

function call(program: string, args: string[], cwd: string, env: Record<string, string> = {}): ChildProcess {
  return spawn(program, args, {
    cwd,
    env: { ...inherited, PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function npm(args: string[], cwd: string): Promise<string> {
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
  const { code, stdout, stderr } = await new Running(call("npm", [...args, ...quiet], cwd)).ended;
  if (code !== 0) throw new Error(`npm ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

beforeAll(async () => {
  await npm(["pack", "--pack-destination", folder], root);
  tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz"))!);
}, PATIENCE);

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

interface Place {
  cwd: string;
  run(...args: string[]): Promise<Ended>;
  start(...args: string[]): Running;
}

async function install(name: string, env: Record<string, string>, ...packages: string[]): Promise<Place> {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  await npm(["install", tarball, ...packages], cwd);
  const bin = join(cwd, "node_modules/.bin/punctual");
  const start = (...args: string[]) => {
    const child = call(bin, args, cwd, env);
    const running = new Running(child);
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await running.ended;
    });
    return running;
  };
  return { cwd, start, run: (...args) => start(...args).ended };
}

/** Fails until the file that it needs exists. */
const FRAGILE = `
import { existsSync } from "node:fs";
import { Job } from "punctual";
Job.schedule("fragile", ({ part }: { part: string }) => {
  if (!existsSync("fixed")) throw new Error(\`\${part} is broken\`);
  return \`\${part} works\`;
});
`;

/** From an empty folder to an empty history. */
async function live({ cwd, run, start }: Place, database: string): Promise<void> {
  const ok = async (...args: string[]) => {
    const ended = await run(...args);
    expect(ended, args.join(" ")).toMatchObject({ code: 0 });
    return ended;
  };
  const init = await ok("init", "--db", database);
  expect(init.stdout).toContain("created  punctual.config.ts");
  expect(init.stderr).toContain("punctual dispatch hello");
  writeFileSync(join(cwd, "jobs/fragile.ts"), FRAGILE);

  await ok("install");
  expect((await ok("install")).stderr).toContain("nothing to do");
  const worker = start("work", "--no-jsonl", "--parallel", "4", "--dashboard-port", "0");
  await worker.shows("2 jobs, 1 schedule");
  await worker.shows(/dashboard http\S+\s/);
  await openDashboard(/dashboard (http\S+)/.exec(worker.stderr)![1]!);

  await ok("dispatch", "hello", "--set", "name=you", "--wait=60s");
  await worker.shows("Hello, you!");
  const failed = await run("dispatch", "fragile", '{"part":"the lift"}', "--wait=60s", "--json");
  expect(failed.code).toBe(1);
  const { id } = JSON.parse(failed.stdout) as { id: number };

  expect((await ok("status")).stdout).toMatch(/^Defined: 2 \| Running: \d \| Idle: \d/);
  // A worker writes its counts each second.
  await eventually("the failure in the status", async () =>
    /fragile .*the lift is broken/.test((await ok("status")).stdout),
  );
  expect((await ok("show", String(id))).stdout).toContain("the lift is broken");
  const listed = JSON.parse((await ok("list", "--where", "state:failed job:frag*", "--json")).stdout);
  expect(listed.runs.map((one: { id: number }) => one.id)).toEqual([id]);

  writeFileSync(join(cwd, "fixed"), "");
  await ok("retry", String(id));
  await worker.shows(`DONE fragile #${id}`);
  expect(JSON.parse((await ok("show", String(id), "--json")).stdout)).toMatchObject({
    run: { id, state: "completed", result: "the lift works" },
  });

  worker.child.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
  await ok("prune", "--older-than", "0s");
  expect(JSON.parse((await ok("list", "--where", "is:finished", "--json")).stdout).runs).toEqual([]);
}

/** Opens the page as a browser does: signs in, and loads the page with its files. */
async function openDashboard(address: string): Promise<void> {
  const signedIn = await fetch(address, { redirect: "manual" });
  const cookie = signedIn.headers.getSetCookie()[0]!.split(";")[0]!;
  const page = await fetch(new URL("/runs", address), { headers: { cookie } });
  const files = [...(await page.text()).matchAll(/\s(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const file of files) {
    expect((await fetch(new URL(file, page.url), { headers: { cookie } })).status).toBe(200);
  }
}

describe("the package", () => {
  test(
    "works for a newcomer on SQLite",
    async () => {
      await live(await install("on-sqlite", {}), "sqlite");
      expect(existsSync(join(folder, "on-sqlite/punctual.db"))).toBe(true);
    },
    PATIENCE,
  );

  test(
    "works for a newcomer on PostgreSQL",
    async () => {
      const scene = await Scene.on("postgres", (await sharedServer("postgres")).url);
      onTestFinished(() => scene.clear());
      const { version } = JSON.parse(readFileSync(join(root, "node_modules/pg/package.json"), "utf8"));
      const place = await install("on-postgres", { PUNCTUAL_DATABASE_URL: scene.url }, `pg@${version}`);
      await live(place, "postgres");
    },
    PATIENCE,
  );
});
