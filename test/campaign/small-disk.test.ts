import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { isRoot } from "../servers/programs.ts";
import { eventually } from "../support/eventually.ts";
import { startChild } from "../support/start-child.ts";
import { listDisks, removeLeftDisks, SmallDisk } from "./support/small-disk.ts";

const CAMPAIGN = fileURLToPath(new URL("../../scripts/campaign.ts", import.meta.url));
const HOLDER = fileURLToPath(new URL("support/disk-holder.ts", import.meta.url));

const disksOf = (pid: number) => listDisks().filter((disk) => disk.pid === pid);

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "punctual-disk-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

// Elsewhere a campaign runs without small disks.
describe.runIf(process.platform === "linux" && isRoot())("a small disk", () => {
  test("keeps the content of its folder, and is removed", () => {
    const path = folder();
    writeFileSync(join(path, "a"), "before");
    const disk = SmallDisk.under(path)!;
    expect(existsSync(join(path, "a"))).toBe(true);
    expect(disksOf(process.pid)).toMatchObject([{ path }]);
    expect(removeLeftDisks()).not.toContain(path);
    expect(disksOf(process.pid)).toHaveLength(1);
    disk.remove();
    expect(disksOf(process.pid)).toEqual([]);
  });

  test("of a process that was killed is removed by the next campaign, with its folder", async () => {
    const around = folder();
    const path = join(around, "data");
    mkdirSync(path);
    const holder = startChild(HOLDER, [path]);
    await eventually("the disk", () => disksOf(holder.pid).length > 0 || undefined);
    holder.signal("SIGKILL");
    await holder.gone;
    expect(disksOf(holder.pid)).toHaveLength(1);
    expect(removeLeftDisks()).toContain(path);
    expect(disksOf(holder.pid)).toEqual([]);
    expect(existsSync(around)).toBe(false);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("of a campaign that gets %s is removed by it", async (signal) => {
    const campaign = startChild(CAMPAIGN, ["--database", "sqlite", "--minutes", "5", "--seed", "1"]);
    await eventually("the disk", () => disksOf(campaign.pid).length > 0 || undefined);
    campaign.signal(signal);
    expect(await campaign.exit()).toEqual({ code: signal === "SIGTERM" ? 143 : 130, signal: null });
    expect(disksOf(campaign.pid)).toEqual([]);
  });
});
