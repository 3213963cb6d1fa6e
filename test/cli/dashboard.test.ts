import { join, resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { ensurePage } from "../../scripts/build-page.ts";
import { project, type Running, run, start, write } from "./support/punctual.ts";

beforeAll(ensurePage);

const files = {
  "punctual.config.ts": 'export default { database: "sqlite:./jobs.db" };\n',
  "jobs/say.ts": 'import { Job } from "punctual";\nJob.schedule("say", () => {});\n',
};

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/(\?token=[\w-]{43})?(?=\s|")/;

/** The address in what was printed. */
async function addressOf(running: Running): Promise<string> {
  await running.shows(ADDRESS);
  return ADDRESS.exec(running.stdout + running.stderr)![0];
}

/** Status of the page, opened as a browser does. */
async function open(address: string): Promise<number> {
  const signedIn = await fetch(address, { redirect: "manual" });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  return (await fetch(new URL("runs", address), { headers: { cookie } })).status;
}

describe("punctual dashboard", () => {
  test.each(["SIGINT", "SIGTERM"] as const)("serves the page until %s", async (signal) => {
    const running = start(["dashboard", "--port", "0"], { cwd: project(files) });
    const address = await addressOf(running);
    expect(await open(address)).toBe(200);
    expect(running.stdout).toBe(`${address}\n`);
    running.child.kill(signal);
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test("prints JSON for programs", async () => {
    const running = start(["dashboard", "--port", "0", "--json"], { cwd: project(files) });
    const address = await addressOf(running);
    const { url, signInUrl, v } = JSON.parse(running.stdout);
    expect({ url, v }).toEqual({ url: new URL("/", address).href, v: 1 });
    expect(await open(signInUrl)).toBe(200);
  });

  test("ends although a browser holds a stream open", async () => {
    const running = start(["dashboard", "--port", "0"], { cwd: project(files) });
    const address = await addressOf(running);
    const token = new URL(address).searchParams.get("token");
    const stream = await fetch(new URL("api/v1/events", address), {
      headers: { authorization: `Bearer ${token}` },
    });
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
    await stream.text().catch(() => {});
  });

  test("takes its token from the environment, and does not print it", async () => {
    const env = { DASHBOARD_TOKEN: "a token of sixteen" };
    const running = start(["dashboard", "--port", "0", "--token-env", "DASHBOARD_TOKEN"], {
      cwd: project(files),
      env,
    });
    const address = await addressOf(running);
    expect(address).not.toContain("token=");
    expect((await fetch(`${address}?token=${encodeURIComponent(env.DASHBOARD_TOKEN)}`)).status).toBe(401);
    const headers = { authorization: `Bearer ${env.DASHBOARD_TOKEN}` };
    expect((await fetch(address, { headers })).status).toBe(200);
    expect(running.stdout + running.stderr).not.toContain(env.DASHBOARD_TOKEN);
  });

  test.each([
    [["--host", "0.0.0.0"], "requires a token. Pass --token-env"],
    [["--token-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE (--token-env) is not set"],
    [["--port", "70000"], "at most 65,535"],
  ])("%j is refused", async (args, message) => {
    const { code, stderr } = await run(["dashboard", ...args], { cwd: project(files) });
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  test("a missing token is reported before job files are loaded", async () => {
    const cwd = project({ ...files, "jobs/say.ts": 'console.log("loaded");\nthrow new Error("broken");\n' });
    const { code, stdout, stderr } = await run(["dashboard", "--host", "0.0.0.0"], { cwd });
    expect(stderr).toContain("requires a token. Pass --token-env");
    expect(code).toBe(2);
    expect(stdout + stderr).not.toMatch(/loaded|broken/);
  });

  test("serves its page while the database is down, and says so in its API", async () => {
    const running = start(["dashboard", "--port", "0", "--db", "postgres://127.0.0.1:1/shop"]);
    const address = await addressOf(running);
    expect(await open(address)).toBe(200);
    const token = new URL(address).searchParams.get("token");
    const answer = await fetch(new URL("api/v1/runs", address), {
      headers: { authorization: `Bearer ${token}` },
    });
    const { code, detail } = (await answer.json()) as { code: string; detail: string };
    expect([answer.status, code]).toEqual([503, "DATABASE_UNAVAILABLE"]);
    expect(detail).toContain("ECONNREFUSED");
  });
});

describe("punctual work", () => {
  test.each(["0", "2"])("with --workers %s serves one dashboard", async (workers) => {
    const running = start(["work", "--workers", workers, "--dashboard-port", "0"], { cwd: project(files) });
    const address = await addressOf(running);
    expect(await open(address)).toBe(200);
    running.child.kill("SIGTERM");
    const { code, stderr } = await running.ended;
    expect(code).toBe(0);
    expect(stderr.match(/dashboard http/g)).toHaveLength(1);
  });
});

describe("a process without a dashboard", () => {
  const index = resolve(import.meta.dirname, "../../src/index.ts");
  const main = resolve(import.meta.dirname, "../../src/cli/main.ts");
  const LOADED = `
    import { registerHooks } from "node:module";
    registerHooks({
      load(url, context, next) {
        if (/\\/src\\/dashboard\\/|^node:(http|zlib)$/.test(url)) process.stderr.write("loaded " + url + "\\n");
        return next(url, context);
      },
    });
  `;
  const loading = async (program: string, ...args: string[]) => {
    const cwd = project({ ...files, "hook.mjs": LOADED });
    write(cwd, { "program.mjs": `import "./hook.mjs";\n${program}` });
    return run(args, { cwd, program: join(cwd, "program.mjs") });
  };

  test("loads nothing of it", async () => {
    const library = await loading(
      `const { Punctual } = await import(${JSON.stringify(index)}); await new Punctual("sqlite::memory:").run();`,
    );
    expect(library).toMatchObject({ code: 0, stderr: "" });
    for (const args of [["install"], ["work", "--until-empty"], ["status"], ["dashboard", "--help"]]) {
      const { code, stderr } = await loading(
        `process.argv[1] = ${JSON.stringify(main)}; await import(${JSON.stringify(main)});`,
        ...args,
      );
      expect([args, code, stderr.match(/loaded .*/g)]).toEqual([args, args[0] === "status" ? 5 : 0, null]);
    }
  });

  test("would be found if it loaded some", async () => {
    const path = resolve(import.meta.dirname, "../../src/dashboard/index.ts");
    const { stderr } = await loading(`await import(${JSON.stringify(path)});`);
    expect(stderr).toContain("src/dashboard/server/dashboard.ts");
  });
});
