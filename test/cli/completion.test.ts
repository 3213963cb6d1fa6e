import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { scene } from "./support/project-scene.ts";
import { write } from "./support/punctual.ts";

const main = resolve(import.meta.dirname, "../../src/cli/main.ts");

async function withNames() {
  const made = scene();
  made.jobs.schedule("emails.send", () => {}).queue("emails");
  made.jobs.schedule("emails:weekly", () => {}).cron("0 3 * * 1");
  made.jobs.schedule("report daily", () => {});
  await made.jobs.run();
  const words = async (...typed: string[]) => {
    const { code, stdout, stderr } = await made.call("__complete", ...typed);
    expect([code, stderr]).toEqual([0, ""]);
    return stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split("\t")[0]!);
  };
  return { ...made, words };
}

describe("completion", () => {
  test("lists commands, subcommands, options and their values", async () => {
    const { words } = await withNames();
    expect(await words("re")).toEqual(["retry", "resume", "reopen"]);
    expect(await words("schedule", "")).toEqual(["list", "next", "run"]);
    expect(await words("schedule", "list", "--l")).toEqual(["--late"]);
    expect(await words("status", "--js")).toContain("--json");
    expect(await words("--color", "")).toEqual(["always", "never", "auto"]);
    expect(await words("--color=a")).toEqual(["--color=always", "--color=auto"]);
    expect(await words("--json", "completion", "")).toEqual(["bash", "zsh", "fish", "powershell"]);
    expect(await words("--next", "schedule")).toEqual(["list", "next", "run"]);
    expect(await words("nonsense", "")).toEqual(expect.arrayContaining(["status"]));
  });

  test("lists jobs, queues and schedules", async () => {
    const { words, jobs } = await withNames();
    // Completion does not wait for a slow database, and on a busy machine every database is slow.
    const offers = (expected: string[], ...typed: string[]) =>
      eventually(
        () => `${expected} for ${typed}`,
        async () => isDeepStrictEqual(await words(...typed), expected),
      );
    await offers(["emails.send", "emails:weekly"], "status", "ema");
    expect(await words("pause", "")).toEqual(["queue", "job", "schedule", "worker"]);
    await offers(["default", "emails"], "pause", "queue", "");
    await offers(["default"], "pause", "queue", "emails", "d");
    await offers(["default", "emails"], "work", "--queues", "");
    await offers(["default,!emails"], "work", "--queues", "default,!");
    await offers(["--queues=default*2,emails"], "collect", "--queues=default*2,e");
    const [schedule] = await jobs.schedules();
    await offers(["emails:weekly", String(schedule!.id)], "resume", "schedule", "");
    await offers(["emails:weekly"], "schedule", "run", "");
  });

  test("lists nothing without a database, and creates none", async () => {
    const { callWith, cwd } = await withNames();
    for (const db of ["sqlite:./none.db", "postgres://nobody@127.0.0.1:1/none", "nonsense"]) {
      const silent = await callWith({ env: { PUNCTUAL_DATABASE_URL: db } }, "__complete", "status", "");
      expect(silent).toMatchObject({ code: 0, stdout: "", stderr: "" });
    }
    write(cwd, { "punctual.config.ts": "throw new Error('no');" });
    expect(await callWith({}, "__complete", "status", "")).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });

  test("has a script for each shell, and refuses others", async () => {
    const { call } = scene();
    for (const shell of ["bash", "zsh", "fish", "powershell"]) {
      const { code, stdout } = await call("completion", shell);
      expect([code, stdout.includes("punctual __complete") || stdout.includes("__complete")]).toEqual([
        0,
        true,
      ]);
    }
    const refused = await call("completion", "tcsh");
    expect(refused.stderr).toContain("Expected bash, zsh, fish, powershell.");
    expect([refused.code, refused.stdout]).toEqual([2, ""]);
    expect((await call("completion")).code).toBe(2);
  });

  test("works in a real bash, also for names with a colon or a blank", async () => {
    const { cwd, url } = await withNames();
    write(cwd, {
      "bin/punctual": `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(main)} "$@"\n`,
    });
    const type = async (line: string) => {
      const script = `
        source <(punctual completion bash)
        COMP_LINE=${JSON.stringify(line)}; COMP_POINT=\${#COMP_LINE}
        _punctual
        printf '%s\\n' "\${COMPREPLY[@]}"`;
      const env = {
        ...process.env,
        PATH: `${join(cwd, "bin")}:${process.env.PATH}`,
        PUNCTUAL_DATABASE_URL: url,
      };
      await promisify(execFile)("chmod", ["+x", join(cwd, "bin/punctual")]);
      const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd, env });
      return stdout.split("\n").filter((word) => word !== "");
    };
    expect(await type("punctual sched")).toEqual(["schedule"]);
    expect(await type("punctual schedule ")).toEqual(["list", "next", "run"]);
    await eventually("weekly", async () =>
      isDeepStrictEqual(await type("punctual status emails:"), ["weekly"]),
    );
    const blank = ["report\\ daily"];
    await eventually("report daily", async () => isDeepStrictEqual(await type("punctual status rep"), blank));
    expect(await type("punctual --db sqlite:none.db status e")).toEqual([]);
  });
});
