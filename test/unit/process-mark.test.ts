import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { isGone, processMark } from "../../src/worker/process-mark.ts";

const module = new URL("../../src/worker/process-mark.ts", import.meta.url).href;
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Starts a process that prints its mark and stays. */
async function startMarked(): Promise<{ child: ChildProcess; pid: number; mark: string }> {
  const code = `const { processMark } = await import(${JSON.stringify(module)}); process.stdout.write(processMark()); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [mark] = await once(child.stdout!, "data");
  return { child, pid: child.pid!, mark: String(mark) };
}

describe.runIf(process.platform === "linux")("the mark of a process", () => {
  test("shows that it runs, and that it has ended", async () => {
    const { child, pid, mark } = await startMarked();
    expect(isGone(pid, mark)).toBe(false);
    child.kill("SIGSTOP");
    expect(isGone(pid, mark)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isGone(pid, mark)).toBe(true);
  });

  test("does not change while the process works", () => {
    const mark = processMark();
    const before = process.cpuUsage();
    while (process.cpuUsage(before).user < 100_000) JSON.stringify(process.memoryUsage());
    expect(processMark()).toBe(mark);
  });

  test("differs from that of a later process with the same id", () => {
    const mark = processMark()!;
    expect(isGone(process.pid, mark)).toBe(false);
    expect(isGone(process.pid, `${mark}0`)).toBe(true);
  });

  test("shows nothing under another kernel or among other process ids", async () => {
    const { child, pid, mark } = await startMarked();
    child.kill("SIGKILL");
    await once(child, "exit");
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    expect(mark).toContain(boot);
    expect(isGone(pid, mark.replace(boot, "another"))).toBe(false);
    expect(mark).toContain("pid:[");
    expect(isGone(pid, mark.replace("pid:[", "pid:[9"))).toBe(false);
  });
});
