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
import { checkMount, NEXT_ENVIRONMENT, NEXT_PACKAGES, writeNextApp } from "./support/next-app.ts";

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
  /** Starts another program that is installed there. */
  startOther(name: string, ...args: string[]): Running;
}

async function install(name: string, env: Record<string, string>, ...packages: string[]): Promise<Place> {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  await npm(["install", tarball, ...packages], cwd);
  const startOther = (bin: string, ...args: string[]) => {
    const child = call(join(cwd, "node_modules/.bin", bin), args, cwd, env);
    const running = new Running(child);
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await running.ended;
    });
    return running;
  };
  const start = (...args: string[]) => startOther("punctual", ...args);
  return { cwd, start, startOther, run: (...args) => start(...args).ended };
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
    "works for a newcomer whose package is CommonJS, as npm init makes it",
    async () => {
      const { cwd, run } = await install("as-commonjs", {});
      const setType = (type: string) => npm(["pkg", "set", `type=${type}`], cwd);
      await setType("commonjs");
      const put = (name: string, text: string) => {
        mkdirSync(dirname(join(cwd, name)), { recursive: true });
        writeFileSync(join(cwd, name), text);
      };
      const node = async (file: string) => new Running(call(process.execPath, [file], cwd)).ended;
      const init = await run("init");
      expect(init.stdout).toContain("created  jobs/hello.mts");
      expect(init.stderr).toContain("npm pkg set type=module");
      await run("install");
      expect(await run("dispatch", "hello", "--sync")).toMatchObject({ code: 0 });

      const invoice = 'export default (args: { id: number }) => "invoice " + args.id;\n';
      put("jobs/send-invoice.ts", invoice);
      const refused = await run("dispatch", "send-invoice", "--set", "id=7", "--sync");
      expect(refused.code).not.toBe(0);
      expect(`${refused.stdout}${refused.stderr}`).toContain(
        'The file is an ES module in a CommonJS package. Set "type": "module" in package.json, or rename the file to .mts or .mjs.',
      );
      rmSync(join(cwd, "jobs/send-invoice.ts"));
      put("jobs/send-invoice.mts", invoice);
      const sent = await run("dispatch", "send-invoice", "--set", "id=7", "--sync", "--json");
      expect(JSON.parse(sent.stdout)).toMatchObject({ state: "completed", result: "invoice 7" });

      const program = `
        import { Punctual } from "punctual";
        const jobs = new Punctual("sqlite::memory:");
        jobs.define("greet", (args: { name: string }) => console.log(\`hello, \${args.name}\`));
        await jobs.dispatch("greet", { name: "Ada" });
        await jobs.run();
        await jobs.stop();
      `;
      put("program.mts", program);
      expect((await node("program.mts")).stdout).toBe("hello, Ada\n");
      await setType("module");
      put("program.ts", program);
      expect((await node("program.ts")).stdout).toBe("hello, Ada\n");
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

test(
  "serves its dashboard as a route handler of Next",
  async () => {
    const database = `sqlite:${join(folder, "in-next/jobs.db")}`;
    const env = { ...NEXT_ENVIRONMENT, PUNCTUAL_DATABASE_URL: database };
    const { cwd, startOther, run } = await install("in-next", env, ...NEXT_PACKAGES);
    writeNextApp(cwd);
    expect(await run("install")).toMatchObject({ code: 0 });
    expect(await startOther("next", "build").ended).toMatchObject({ code: 0 });
    const server = startOther("next", "start", "--hostname", "127.0.0.1", "--port", "0");
    await server.shows(/http:\/\/127\.0\.0\.1:\d+/);
    await checkMount(/http:\/\/127\.0\.0\.1:\d+/.exec(server.stdout + server.stderr)![0]);
  },
  PATIENCE,
);
