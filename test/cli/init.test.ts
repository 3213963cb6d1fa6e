import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { project, run, start, write } from "./support/punctual.ts";

const text = (cwd: string, file: string) => readFileSync(join(cwd, file), "utf8");

/** All files here except the packages. */
const files = (cwd: string) =>
  readdirSync(cwd, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
    .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
    .sort();

/** A folder without package.json. */
function empty(): string {
  const cwd = project();
  rmSync(join(cwd, "package.json"));
  return cwd;
}

describe("init", () => {
  test("in an empty folder writes files that work at once", async () => {
    const cwd = empty();
    const { code, stdout, stderr } = await run(["init"], { cwd });
    expect(stdout).toBe(
      "created  punctual.config.ts\ncreated  jobs/hello.ts\ncreated  package.json\ncreated  .gitignore\n",
    );
    expect(stderr).toBe(
      "\nNext:\n  npx punctual work\n  npx punctual dispatch hello --set name=you\n  npx punctual status\n",
    );
    expect(code).toBe(0);
    const dispatched = await run(["dispatch", "hello", "--set", "name=you"], { cwd });
    expect(dispatched.stderr).toBe("run 1 of hello dispatched\n");
    const working = start(["work"], { cwd });
    await working.shows("Hello, you!");
    await working.shows("Hello, world!");
    working.child.kill("SIGTERM");
    expect((await working.ended).stderr).not.toContain("arning");
    expect((await run(["status"], { cwd })).code).toBe(0);
  });

  test.each([
    ["npm", {}, "exec punctual work"],
    ["yarn", { "yarn.lock": "" }, "punctual work"],
  ])("writes the script of %s", async (_, there, script) => {
    const cwd = project({ "package.json": "{}", ...there });
    await run(["init"], { cwd });
    expect(JSON.parse(text(cwd, "package.json")).scripts.work).toBe(script);
  });

  test("npm run work ends its worker when npm gets SIGTERM", async () => {
    const cwd = empty();
    await run(["init"], { cwd });
    const bin = join(cwd, "node_modules/.bin/punctual");
    const main = resolve(import.meta.dirname, "../../src/cli/main.ts");
    write(cwd, { "node_modules/.bin/punctual": `#!${process.execPath}\nimport(${JSON.stringify(main)});\n` });
    chmodSync(bin, 0o755);
    const npm = spawn("npm", ["run", "work"], { cwd, env: { ...process.env, NODE_OPTIONS: "" } });
    let said = "";
    for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (data) => (said += data));
    await vi.waitFor(() => expect(said).toContain("Hello, world!"), 60_000);
    const pid = Number(/pid (\d+)/.exec(said)![1]);
    npm.kill("SIGTERM");
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 60_000);
    expect(said).toContain("stopping");
  });

  test("the config type-checks without @types/node", async () => {
    const cwd = project();
    for (const kind of ["sqlite", "postgres"]) {
      rmSync(join(cwd, "punctual.config.ts"), { force: true });
      await run(["init", "--db", kind], { cwd });
      write(cwd, {
        "punctual.d.ts":
          "declare module 'punctual' { export function defineConfig<C extends { database?: string | object }>(config: C): C; }",
        "tsconfig.json": JSON.stringify({
          compilerOptions: {
            strict: true,
            noEmit: true,
            types: [],
            module: "nodenext",
            lib: ["esnext"],
            paths: { punctual: ["./punctual.d.ts"] },
          },
          files: ["punctual.config.ts", "punctual.d.ts"],
        }),
      });
      const tsc = resolve(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
      expect(execFileSync(process.execPath, [tsc, "-p", cwd], { encoding: "utf8" })).toBe("");
    }
  });

  test.each([
    ["no type", "{}", "hello.ts"],
    ["CommonJS", '{ "type": "commonjs" }', "hello.mts"],
    ["ES modules", '{ "type": "module" }', "hello.ts"],
  ])("in a package of %s writes an example that loads", async (_, manifest, file) => {
    const cwd = project({ "package.json": manifest });
    expect((await run(["init"], { cwd })).stdout).toContain(`jobs/${file}`);
    const { code, stdout, stderr } = await run(["dispatch", "hello", "--sync"], { cwd });
    expect(stdout).toContain("Hello, world!");
    expect(stderr).toMatch(/^run \d+ of hello completed in \w+\n$/);
    expect(code).toBe(0);
  });

  test("keeps existing files, and their formatting", async () => {
    const manifest = '{\n\t"name": "app",\n\t"scripts": {\n\t\t"work": "mine"\n\t}\n}';
    const cwd = project({
      "package.json": manifest,
      "punctual.config.mjs": "export default {};\n",
      ".gitignore": "node_modules",
    });
    const { stdout } = await run(["init", "--dir", "src/tasks"], { cwd });
    expect(stdout).toBe(
      "kept     punctual.config.mjs\ncreated  src/tasks/hello.ts\nchanged  package.json\nchanged  .gitignore\n",
    );
    expect(text(cwd, ".gitignore")).toBe("node_modules\npunctual.db*\n");
    expect(text(cwd, "punctual.config.mjs")).toBe("export default {};\n");
    expect(text(cwd, "package.json")).toBe(
      '{\n\t"name": "app",\n\t"scripts": {\n\t\t"work": "mine",\n\t\t"jobs:status": "punctual status"\n\t}\n}',
    );
    const again = await run(["init", "--dir", "src/tasks"], { cwd });
    expect(again.stdout).toBe(
      "kept     punctual.config.mjs\nkept     src/tasks/hello.ts\nkept     package.json\nkept     .gitignore\n",
    );
  });

  test.each([
    ["postgres", "pg", "postgres://localhost:5432/postgres"],
    ["mysql", "mysql2", "mysql://root@localhost:3306/punctual"],
    ["mariadb", "mysql2", "mariadb://root@localhost:3306/punctual"],
  ])("for %s names the driver", async (kind, driver, url) => {
    const cwd = empty();
    const { stderr, code } = await run(["init", "--db", kind, "--dir", "tasks"], { cwd });
    expect(stderr).toContain(`needs its driver, ${driver}. Set PUNCTUAL_DATABASE_URL`);
    expect(stderr).toContain(
      `Next:\n  npm install ${driver}\n  npx punctual install\n  npx punctual work\n  npx punctual dispatch hello --set name=you\n`,
    );
    expect(text(cwd, "punctual.config.ts")).toContain(`database: "${url}",`);
    expect(existsSync(join(cwd, ".gitignore"))).toBe(false);
    expect(text(cwd, "punctual.config.ts")).toContain('jobs: "tasks/**/*.{ts,mts,js,mjs}"');
    expect(code).toBe(0);
  });

  describe("in a framework", () => {
    const next = { "package.json": '{ "dependencies": { "next": "16.0.0" } }' };
    const nest = {
      "package.json":
        '{ "scripts": { "build": "nest build" }, "dependencies": { "@nestjs/core": "12.0.0" } }',
      "src/app.module.ts": "export class AppModule {}\n",
    };

    test.each<[string, Record<string, string>, string[], string, string]>([
      ["the app folder", next, [], "app/api/hello/route.ts", "../../../jobs/hello"],
      [
        "app below src",
        { ...next, "src/a.ts": "" },
        [],
        "src/app/api/hello/route.ts",
        "../../../../jobs/hello",
      ],
      ["pages", { ...next, "pages/a.ts": "" }, [], "pages/api/hello.ts", "../../jobs/hello"],
      ["its name", {}, ["--framework", "next"], "app/api/hello/route.ts", "../../../jobs/hello"],
      ["other jobs", next, ["--dir", "src/tasks"], "app/api/hello/route.ts", "../../../src/tasks/hello"],
    ])("Next, detected by %s: writes a route that dispatches", async (_, there, args, file, job) => {
      const cwd = project(there);
      expect((await run(["init", ...args], { cwd })).stdout).toContain(`created  ${file}\n`);
      expect(text(cwd, file)).toContain(`import { hello } from "${job}";`);
      expect(existsSync(resolve(dirname(join(cwd, file)), `${job}.ts`))).toBe(true);
      expect((await run(["dispatch", "hello", "--sync"], { cwd })).stdout).toContain("Hello, world!");
    });

    test("Nest: jobs are compiled with the application, and the worker runs the result", async () => {
      const cwd = project(nest);
      const { stdout, stderr } = await run(["init"], { cwd });
      expect(stdout).toBe(
        "created  punctual.config.mjs\ncreated  src/jobs/hello.ts\ncreated  src/jobs/_nest.ts\nchanged  package.json\ncreated  .gitignore\n",
      );
      expect(stderr).toContain("Next:\n  npm run build\n  npx punctual work\n");
      expect(text(cwd, "src/jobs/_nest.ts")).toContain('import("../app.module.js")');
      // The output of a build, without the application.
      const built = stripTypeScriptTypes(text(cwd, "src/jobs/hello.ts"));
      write(cwd, { "dist/jobs/hello.js": built, "dist/jobs/_nest.js": "export async function nest() {}\n" });
      expect((await run(["dispatch", "hello", "--sync"], { cwd })).stdout).toContain("Hello, world!");
    });

    test("none, if --framework says so", async () => {
      const cwd = project(nest);
      const { stdout } = await run(["init", "--framework", "none", "--json"], { cwd });
      expect(JSON.parse(stdout)).toMatchObject({
        framework: "none",
        files: [
          { file: "punctual.config.ts" },
          { file: "jobs/hello.ts" },
          { file: "package.json" },
          { file: ".gitignore" },
        ],
      });
    });

    test.each<[string[], Record<string, string>, string]>([
      [
        ["--framework", "nexst"],
        {},
        'expected --framework next, nest, none, got nexst. Did you mean "nest" or "next"?',
      ],
      [
        ["--framework", "nest"],
        {},
        "src/app.module.ts does not exist. Change to its folder, or pass --framework none.",
      ],
      [
        ["--dir", "jobs"],
        nest,
        "Nest compiles only the folder src: expected --dir such as src/jobs, got jobs.",
      ],
    ])("refuses %j and writes nothing", async (args, there, message) => {
      const cwd = project(there);
      const before = files(cwd);
      const { code, stderr } = await run(["init", ...args], { cwd });
      expect(stderr).toContain(message);
      expect(code).toBe(2);
      expect(files(cwd)).toEqual(before);
    });
  });

  test("names the commands of the package manager in use", async () => {
    const cwd = project({ "pnpm-lock.yaml": "" });
    expect((await run(["init"], { cwd })).stderr).toContain("Next:\n  pnpm punctual work\n");
  });

  test("prints one JSON document", async () => {
    const { stdout } = await run(["init", "--json"], { cwd: empty() });
    expect(JSON.parse(stdout)).toEqual({
      v: 1,
      database: "SQLite",
      driver: null,
      framework: "none",
      files: [
        { file: "punctual.config.ts", what: "created" },
        { file: "jobs/hello.ts", what: "created" },
        { file: "package.json", what: "created" },
        { file: ".gitignore", what: "created" },
      ],
      next: ["npx punctual work", "npx punctual dispatch hello --set name=you", "npx punctual status"],
    });
  });

  test.each<[string[], Record<string, string>, number, string]>([
    [["--db", "postgress"], {}, 2, 'got postgress. Did you mean "postgres"?'],
    [["--db", "sqlite:./a.db"], {}, 2, "init expected --db sqlite, postgres, mysql, mariadb"],
    [["--dir", "../out"], {}, 2, "Expected --dir as a folder below this one"],
    [["--dir", "/etc"], {}, 2, "Expected --dir as a folder below this one"],
    [["--dir", "tasks"], { tasks: "a file" }, 2, "--dir tasks is a file here"],
    [[], { "package.json": "{ not json" }, 6, "package.json here is not a JSON object. Fix it first"],
  ])("refuses %j and writes nothing", async (args, more, expected, message) => {
    const cwd = project(more);
    const before = files(cwd);
    const { code, stderr } = await run(["init", ...args], { cwd });
    expect(stderr).toContain(message);
    expect(code).toBe(expected);
    expect(files(cwd)).toEqual(before);
  });

  test("removes its files when one cannot be written", async () => {
    const cwd = project();
    // A broken link in place of the example.
    mkdirSync(join(cwd, "jobs"), { recursive: true });
    write(cwd, { "package.json": "{}" });
    execFileSync("ln", ["-s", "/dev/null/nowhere", join(cwd, "jobs/hello.ts")]);
    const { code, stderr } = await run(["init"], { cwd });
    expect(stderr).toContain("All of them were removed again.");
    expect(code).toBe(1);
    expect(existsSync(join(cwd, "punctual.config.ts"))).toBe(false);
    expect(text(cwd, "package.json")).toBe("{}");
  });
});
