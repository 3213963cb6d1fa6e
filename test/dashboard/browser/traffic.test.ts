import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { project, start } from "../../cli/support/punctual.ts";
import { live } from "../support/pages.ts";
import { useScene } from "../support/scene.ts";

const scene = useScene({ hours: 0 });

const WAVES = 30;
const WAVE = 100;
const MEMBERS = 500;

/** Every 40th run fails. */
const JOBS = `import { Job } from "punctual";
  Job.define("row", async ({ n }) => {
    if (n % 40 === 0) throw new Error("no");
  }).queue("rows").concurrency(0).attempts(1);
  Job.define("member", () => {}).queue("members").concurrency(0);`;

const POLL = { timeout: 90_000, interval: 250 };

/** The number in a row of a table, below the title of a column. */
async function cellOf(page: Page, row: string, title: string): Promise<string> {
  const titles = await page.getByRole("columnheader").allInnerTexts();
  const cells = page.getByRole("row").filter({ hasText: row }).first().getByRole("cell");
  const texts = await cells.allInnerTexts();
  return (texts[titles.findIndex((one) => one.trim() === title)] ?? "").trim();
}

/** Ids and states of the rows of a list of runs, in their order. */
function statesOf(page: Page): Promise<[id: string, state: string][]> {
  return page
    .locator("tr[data-key]")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.getAttribute("data-key") ?? "",
        row.querySelector(".state")?.textContent?.trim() ?? "",
      ]),
    );
}

/**
 * Watches which rows are at the place where the tenth row is now, as under a pointer that does not move. Returns the
 * ids of all rows that were there.
 */
async function watchPlace(page: Page): Promise<() => Promise<string[]>> {
  const row = page.locator("tr[data-key]").nth(9);
  await row.evaluate((element) => {
    const { left, top, height } = element.getBoundingClientRect();
    const seen = new Set<string>();
    Object.assign(globalThis, { seen });
    setInterval(() => {
      const under = element.ownerDocument.elementFromPoint(left + 200, top + height / 2)?.closest("tr");
      seen.add(under?.getAttribute("data-key") ?? "no row");
    }, 20);
  });
  return () => page.evaluate(() => [...(globalThis as unknown as { seen: Set<string> }).seen]);
}

test("pages that were open during the traffic end with the rows and counts of the database", async () => {
  const cwd = project({ "jobs/rows.ts": JOBS });
  const env = { PUNCTUAL_DATABASE_URL: `sqlite:${join(cwd, "jobs.db")}` };
  const jobs = new Punctual(env.PUNCTUAL_DATABASE_URL, { logger: false });
  onTestFinished(() => jobs.stop());
  await jobs.install();
  // This instance never works: it only dispatches.
  const row = jobs
    .define("row", (_args: { n: number }) => {})
    .queue("rows")
    .concurrency(0);
  const member = jobs
    .define("member", () => {})
    .queue("members")
    .concurrency(0);
  const wave = (first: number) =>
    row.dispatchMany(Array.from({ length: WAVE }, (_, n) => ({ n: first + n })));
  await wave(0);

  const { page: list, served } = await scene.openOther(jobs);
  const open = async (path: string) => {
    const page = await list.context().newPage();
    await page.goto(served.url + path);
    await live(page);
    return page;
  };
  await list.goto(`${served.url}runs`);
  await list.locator("tr[data-key]").nth(24).waitFor();
  const before = await statesOf(list);
  const underPointer = await watchPlace(list);
  const overview = await open("");
  const queues = await open("queues");
  const jobsPage = await open("jobs");
  const batch = await jobs.batch("members").open();
  const batchPage = await open(`batches/${batch.id}`);

  for (let n = 0; n < 2; n++) start(["work", "--no-jsonl"], { cwd, env });
  for (let n = 1; n < WAVES; n++) await wave(n * WAVE);
  await jobs.batch(batch.id).add(member.many(Array.from({ length: MEMBERS }, () => ({}))));
  await jobs.batch(batch.id).seal();
  await expect.poll(async () => (await jobs.count("state:ready,running,scheduled")).count, POLL).toBe(0);
  await jobs.batch(batch.id).wait();

  const count = async (where: string) => String((await jobs.count(where)).count);
  const grouped = (text: string | null) => (text ?? "").replace(/[\s\u202f,.]/g, "");
  const failed = await count("state:failed");
  expect(failed).toBe(String((WAVES * WAVE) / 40));
  const completed = String(WAVES * WAVE - Number(failed));

  // The rows that the reader has looked at stay where they are, with the state of the database.
  const stored = await Promise.all(before.map(async ([id]) => [id, await jobs.state(Number(id))]));
  await expect.poll(() => statesOf(list), POLL).toEqual(stored);
  const tab = (name: string) => list.getByRole("navigation", { name: "States" }).getByRole("link", { name });
  const inTab = async (name: string) => grouped(((await tab(name).textContent()) ?? "").replace(/^\D+/, ""));
  for (const state of ["ready", "running", "failed", "completed"])
    await expect.poll(() => inTab(state), POLL).toBe(await count(`state:${state}`));
  expect(await underPointer()).toEqual([before[9]![0]]);
  await list.keyboard.press("n");
  const { runs } = await jobs.runs({ limit: 25 });
  const newest = runs.map(({ id, state }) => [String(id), state]);
  await expect.poll(() => statesOf(list), POLL).toEqual(newest);

  const tile = async (title: string) =>
    grouped(await overview.locator("section.tile", { hasText: title }).locator(".tile-value").textContent());
  await expect.poll(() => tile("Running"), POLL).toBe("0");
  await expect.poll(() => tile("Waiting"), POLL).toBe("0");
  await expect.poll(() => tile("Failed runs"), POLL).toBe(failed);
  for (const queue of ["rows", "members"])
    for (const title of ["Waiting", "Running"])
      await expect.poll(() => cellOf(queues, queue, title), POLL).toBe("0");
  await expect
    .poll(async () => grouped(await cellOf(jobsPage, "row", "Completed · 24 h")), POLL)
    .toBe(completed);
  await expect
    .poll(async () => grouped(await cellOf(jobsPage, "row", "Failed attempts · 24 h")), POLL)
    .toBe(failed);
  const figure = async (title: string) =>
    grouped(await batchPage.locator(".figure", { hasText: title }).locator("dd").textContent());
  await expect.poll(() => figure("Completed"), POLL).toBe(String(MEMBERS));
  await expect.poll(() => figure("Waiting"), POLL).toBe("0");
  await batchPage.getByRole("main").getByText("finished", { exact: true }).first().waitFor();
}, 300_000);
