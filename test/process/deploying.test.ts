// The files of examples/deploying, with the folder of an app filled in: their commands are started.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { jobFiles } from "../cli/support/job-files.ts";
import { project, type Running, start, write } from "../cli/support/punctual.ts";
import { read } from "../docs/support/markdown.ts";
import { eventually } from "../support/eventually.ts";
import { parseYaml } from "./support/yaml.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, "examples/deploying");
const files = readdirSync(folder).sort();
const fileNamed = (name: string) => readFileSync(join(folder, name), "utf8");
const units = files.filter((name) => /\.(service|timer)$/.test(name));

/** A project with its programs where package managers put them. */
function app(): string {
  const cwd = project({ ...jobFiles, ".env": "PUNCTUAL_DATABASE_URL=sqlite:./jobs.db\n" });
  const script = `#!/bin/sh\nexec "${process.execPath}" "${join(root, "src/cli/main.ts")}" "$@"\n`;
  write(cwd, { "node_modules/.bin/punctual": script });
  chmodSync(join(cwd, "node_modules/.bin/punctual"), 0o755);
  return cwd;
}

async function dispatch(cwd: string, ...names: string[]): Promise<void> {
  const jobs = new Punctual(`sqlite:${cwd}/jobs.db`, { logger: false });
  for (const name of names) await jobs.declare(name).dispatch();
  await jobs.stop();
}

/** Waits for its first run, checks its health, stops it. */
async function worksAndStops(working: Running, cwd: string, job: string, healthy: (url: string) => unknown) {
  await working.shows("Ctrl-C to drain");
  await dispatch(cwd, job);
  await working.shows('"event":"run.completed"');
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(working.stderr) ?? [];
  if (url) await healthy(url);
  working.child.kill("SIGTERM");
  const { code } = await working.ended;
  expect(code).toBe(0);
}

const LANGUAGES: Record<string, string> = {
  service: "ini",
  timer: "ini",
  yaml: "yaml",
  Dockerfile: "dockerfile",
};

test.each(files)("the guide contains %s unchanged", (name) => {
  const language = LANGUAGES[name.split(".").at(-1)!] ?? "sh";
  expect(read("docs/guide/deploying.md")).toContain(`\n\`\`\`${language}\n${fileNamed(name)}\`\`\`\n`);
});

describe("systemd", () => {
  const settings = (unit: string) => {
    const found: Record<string, string[]> = {};
    for (const line of fileNamed(unit).split("\n")) {
      if (line === "" || /^(#.*|\[\w+\])$/.test(line)) continue;
      const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
      if (key === undefined)
        throw new Error(`${unit}: neither a comment nor a section nor a setting: ${line}`);
      found[key] = [...(found[key] ?? []), value!];
    }
    return found;
  };

  test.each(units)("%s is a unit", (unit) => {
    const cwd = app();
    expect(Object.keys(settings(unit)).length).toBeGreaterThan(2);
    for (const name of units) write(cwd, { [name]: fileNamed(name).replaceAll("/srv/app", cwd) });
    const { error, stderr, status } = spawnSync("systemd-analyze", ["verify", join(cwd, unit)], {
      encoding: "utf8",
    });
    if ((error as NodeJS.ErrnoException | undefined)?.code === "ENOENT") return;
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test.each(["punctual.service", "punctual@.service"])(
    "the command of %s works until SIGTERM",
    async (unit) => {
      const cwd = app();
      const { ExecStart, Environment, WorkingDirectory, TimeoutStopSec } = settings(unit);
      const env = Object.fromEntries(Environment!.map((one) => one.split(/=(.*)/)));
      const [program, ...args] = ExecStart![0]!
        .replaceAll("%i", "default")
        .replace(/\$\{(\w+)\}/g, (_, name) => env[name])
        .replace("--probe-port 4481", "--probe-port 0")
        .split(" ");
      expect([program, WorkingDirectory]).toEqual(["/srv/app/node_modules/.bin/punctual", ["/srv/app"]]);
      expect(Number(TimeoutStopSec)).toBeGreaterThan(drainTimeout(args) + 5);
      await worksAndStops(start(args, { cwd, env }), cwd, "ok", async (url) => {
        expect((await fetch(`${url}/readyz`)).status).toBe(200);
      });
    },
  );

  test("its reload signal replaces each child once", async () => {
    const cwd = app();
    const { ExecStart, ExecReload } = settings("punctual.service");
    const [, ...args] = ExecStart![0]!.replace("--probe-port 4481", "--probe-port 0").split(" ");
    const working = start(args, { cwd });
    await working.shows("Ctrl-C to drain");
    const [, signal] = /^kill -(\w+) \$MAINPID$/.exec(ExecReload![0]!)!;
    working.child.kill(`SIG${signal}` as NodeJS.Signals);
    await working.shows("the definitions were reloaded");
    // There is always one more child while those that have started are replaced.
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(working.stderr) ?? [];
    const children = async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const counts = [...metrics.matchAll(/^punctual_children\{.*\} (\d+)$/gm)].map(([, count]) =>
        Number(count),
      );
      return counts.reduce((sum, count) => sum + count);
    };
    const wanted = Number(args[args.indexOf("--workers") + 1]);
    await eventually(`${wanted} children`, async () => (await children()) === wanted);
    working.child.kill("SIGTERM");
    expect((await working.ended).code).toBe(0);
  });

  test("the command of the timer runs due runs", async () => {
    const cwd = app();
    await dispatch(cwd, "ok", "broken");
    const { ExecStart, SuccessExitStatus } = settings("punctual-collect.service");
    const { stdout, status } = inShell(`cd /srv/app && ${ExecStart![0]}`, cwd);
    expect(stdout).toContain("1 completed, 1 failed");
    expect(String(status)).toBe(SuccessExitStatus![0]);
  });
});

describe("crontab", () => {
  const lines = fileNamed("crontab")
    .split("\n")
    .map((line) => /^((?:\S+ ){5})(.+)$/.exec(line))
    .filter((match) => match !== null && !match[0].startsWith("#"))
    .map((match) => match![2]!);
  const line = (what: string) => lines.find((command) => command.includes(what))!;

  test("collects due runs, and writes to its log", async () => {
    const cwd = app();
    await dispatch(cwd, "ok");
    // The jobs of this project print to standard error.
    const { stdout, stderr, status } = inShell(line("collect"), cwd);
    expect({ stdout, stderr, status }).toEqual({ stdout: "", stderr: "ok got {}\n", status: 0 });
    expect(readFileSync(join(cwd, "collect.log"), "utf8")).toMatch(/^ran 1 run .*1 completed/);
  });

  test("prints nothing to mail without a problem", async () => {
    const cwd = app();
    await dispatch(cwd, "ok");
    inShell(line("collect"), cwd);
    for (const command of lines) {
      const { stdout, stderr, status } = inShell(command, cwd);
      expect({ stdout, stderr, status }).toEqual({ stdout: "", stderr: "", status: 0 });
    }
  });
});

/** As cron starts commands: with a shell, in the home folder, with a minimal environment. */
function inShell(command: string, cwd: string): SpawnSyncReturns<string> {
  const there = command.replaceAll("/srv/app", cwd);
  const [path] = /^PATH=.*$/m.exec(fileNamed("crontab"))!;
  return spawnSync("/bin/sh", ["-c", there], { cwd: "/", env: { PATH: path.slice(5) }, encoding: "utf8" });
}

describe("compose", () => {
  const { services } = parseYaml(fileNamed("compose.yaml")) as unknown as {
    services: Record<string, Service>;
  };
  interface Service {
    command: string[];
    healthcheck: { test: string[] };
    depends_on: Record<string, { condition: string }>;
    stop_grace_period: string;
  }

  test("starts each service after its dependencies", () => {
    expect(Object.keys(services)).toEqual(["database", "install", "worker", "web"]);
    expect(services.install!.depends_on).toEqual({ database: { condition: "service_healthy" } });
    for (const name of ["worker", "web"]) {
      expect(services[name]!.depends_on).toEqual({
        install: { condition: "service_completed_successfully" },
      });
    }
  });

  test("installs, works, is healthy and stops", async () => {
    const cwd = app();
    const { install, worker } = services as { install: Service; worker: Service };
    const [program, ...args] = worker.command;
    expect(program).toBe("punctual");
    expect(fileNamed("Dockerfile")).toContain("PATH=/app/node_modules/.bin:$PATH");
    expect(Number.parseInt(worker.stop_grace_period, 10)).toBeGreaterThan(drainTimeout(args) + 5);
    const installed = start(install.command.slice(1), { cwd });
    expect((await installed.ended).code).toBe(0);
    const check = (url: string) => {
      const [, , ...rest] = worker.healthcheck.test.map((arg) => arg.replace("http://127.0.0.1:4481", url));
      return spawnSync(process.execPath, rest).status;
    };
    const asked: string[] = [];
    const working = start(
      args.map((arg) => (arg === "4481" ? "0" : arg)),
      { cwd },
    );
    await worksAndStops(working, cwd, "ok", (url) => {
      asked.push(url);
      expect(check(url)).toBe(0);
    });
    expect(asked.map(check)).toEqual([1]);
  });
});

/** In seconds. */
function drainTimeout(args: string[]): number {
  return Number.parseInt(args[args.indexOf("--drain-timeout") + 1]!, 10);
}
