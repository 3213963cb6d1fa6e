import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { project, run, start } from "../../cli/support/punctual.ts";
import { startServer } from "../../servers/start.ts";
import { violations } from "../support/accessibility.ts";
import { useScene } from "../support/scene.ts";

const scene = useScene({ hours: 1 });

/** Dispatches a run that no worker executes. */
async function dispatch(): Promise<number> {
  return (await scene.jobs.dispatch("image.thumbnail", { image: "new.webp", width: 1 }).delay("1h")).id;
}

/** Ids of the rows, in their order. */
function rowIds(page: Page): Promise<(string | null)[]> {
  return page.locator("tr[data-key]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-key")));
}

const newRuns = (page: Page) => page.getByRole("button", { name: /new runs? — show/ });

describe("a list", () => {
  test("keeps its rows when runs are dispatched, and shows the new ones on request", async () => {
    const { page } = await scene.open("/runs");
    await page.getByRole("row").nth(1).waitFor();
    const before = await rowIds(page);
    const id = await dispatch();
    await newRuns(page).waitFor();
    expect(await rowIds(page)).toEqual(before);
    await page.keyboard.press("n");
    await page.locator(`tr[data-key="${id}"]`).waitFor();
    expect((await rowIds(page))[0]).toBe(String(id));
  });

  test("updates a row in place, and keeps the selection", async () => {
    const { page } = await scene.open("/runs");
    await page.getByRole("row").nth(1).waitFor();
    const id = await dispatch();
    await newRuns(page).click();
    const row = page.locator(`tr[data-key="${id}"]`);
    await row.getByRole("checkbox").check();
    const before = await rowIds(page);
    await scene.jobs.cancel(id);
    await row.getByText("cancelled").waitFor();
    expect(await rowIds(page)).toEqual(before);
    expect(await row.getByRole("checkbox").isChecked()).toBe(true);
  });
});

test("a change right after the states were counted is counted, too", async () => {
  const { page } = await scene.open("/runs?q=queue:counted");
  const scheduled = page.getByRole("navigation", { name: "States" }).getByRole("link", { name: /scheduled/ });
  await scheduled.getByText("0").waitFor();
  await scene.jobs.dispatch("image.thumbnail", { image: "new.webp", width: 1 }).queue("counted").delay("1h");
  await scheduled.getByText("1").waitFor();
});

describe("a list that is read again", () => {
  test("keeps its new rows when a run changes during the read", async () => {
    const { page } = await scene.open("/runs");
    await page.getByRole("row").nth(1).waitFor();
    const id = await dispatch();
    await newRuns(page).waitFor();
    await page.route(/\/api\/v1\/runs\?/, async (route) => {
      const response = await route.fetch();
      await dispatch();
      await newRuns(other.page).waitFor();
      await route.fulfill({ response });
    });
    // Slower than the page that was asked for before it.
    await page.route(/\/api\/v1\/runs\/changes\?/, async (route) => {
      const response = await route.fetch();
      await delay(1000);
      await route.fulfill({ response });
    });
    const other = await scene.open("/runs");
    await other.page.getByRole("row").nth(1).waitFor();
    const changes = page.waitForResponse(/\/api\/v1\/runs\/changes\?/);
    await newRuns(page).click();
    await changes;
    await newRuns(page).waitFor();
    expect(await rowIds(page)).toContain(String(id));
  });
});

describe("live updates", () => {
  test("reach every tab", async () => {
    const first = await scene.open("/runs?q=job:image.thumbnail");
    const second = await scene.openBeside(first, "/runs?q=job:image.thumbnail");
    await dispatch();
    await newRuns(first.page).waitFor();
    await newRuns(second.page).waitFor();
  });

  test("stop altogether while they are paused", async () => {
    const paused = await scene.open("/runs");
    const other = await scene.open("/runs");
    await paused.page.keyboard.press("p");
    await paused.page.getByRole("button", { name: "Resume" }).waitFor();
    const requests: string[] = [];
    paused.page.on("request", (request) => requests.push(request.url()));
    for (let round = 0; round < 2; round++) {
      await dispatch();
      await newRuns(other.page).waitFor();
      await other.page.keyboard.press("n");
      await newRuns(other.page).waitFor({ state: "detached" });
    }
    expect(requests).toEqual([]);
    await paused.page.keyboard.press("p");
    await newRuns(paused.page).waitFor();
  });

  test("poll if event streams do not pass", async () => {
    const { page } = await scene.open("/runs", { expected: /api\/v1\/events|ERR_FAILED|ERR_ABORTED/ });
    await page.route("**/api/v1/events*", (route) => route.abort());
    await page.reload();
    await page.getByTitle("Event streams do not pass").waitFor({ timeout: 30_000 });
    await dispatch();
    await newRuns(page).waitFor({ timeout: 30_000 });
  });

  test("continue after the network was away", async () => {
    const { page, context } = await scene.open("/runs", { expected: /ERR_|Failed to load/ });
    await page.getByText("live", { exact: true }).waitFor();
    await context.setOffline(true);
    await page
      .getByText(/offline|reconnecting/)
      .first()
      .waitFor({ timeout: 30_000 });
    // The data may be old now, which must not make it hard to read.
    await page.locator(".content-stale").waitFor({ timeout: 30_000 });
    expect(await violations(page)).toEqual([]);
    await dispatch();
    await context.setOffline(false);
    await newRuns(page).waitFor({ timeout: 30_000 });
    await page.getByText("live", { exact: true }).waitFor();
  });
});

describe("an outage of the database", () => {
  test("is reported with its start; the page keeps its data and heals by itself", async () => {
    const server = await startServer("postgres");
    onTestFinished(() => server.stop());
    const jobs = new Punctual(server.url, { logger: false });
    onTestFinished(() => jobs.stop());
    await jobs.install();
    const report = jobs.define("report", (_args: { month: number }) => {});
    await report.dispatch({ month: 1 });
    const { page, served } = await scene.openOther(jobs, { expected: /503|Failed to load/ });
    await page.goto(`${served.url}runs`);
    await page.locator("tr[data-key]").first().waitFor();
    await server.kill();
    await page.getByText("Cannot reach the database").waitFor({ timeout: 40_000 });
    expect(await page.locator("tr[data-key]").count()).toBe(1);
    await server.restart();
    await page.getByText("Cannot reach the database").waitFor({ state: "detached", timeout: 40_000 });
    await report.dispatch({ month: 2 });
    await newRuns(page).waitFor({ timeout: 30_000 });
  }, 180_000);
});

/** Note 48 has the arithmetic: 22 seconds after the kill. As much again for a busy machine. */
const STALLED_WITHIN = 44_000;

describe("a backlog whose last worker was killed", () => {
  test("is named on every page with the command that serves it, and `status --check` fails", async () => {
    const job = `import { Job } from "punctual";
      Job.define("encode", () => new Promise(() => {})).queue("media");`;
    const cwd = project({ "jobs/encode.ts": job });
    const env = { PUNCTUAL_DATABASE_URL: `sqlite:${join(cwd, "jobs.db")}` };
    const jobs = new Punctual(env.PUNCTUAL_DATABASE_URL, { logger: false });
    onTestFinished(() => jobs.stop());
    await jobs.install();
    const worker = start(["work", "--no-jsonl"], { cwd, env });
    await worker.shows("1 job");
    const first = await jobs.dispatch("encode").queue("media");
    await expect.poll(() => jobs.state(first.id)).toBe("running");
    await jobs.dispatch("encode").queue("media");
    const { page } = await scene.openOther(jobs);
    const bar = page.getByRole("region", { name: "Health and live updates" });
    await bar.getByText("Healthy").waitFor();
    worker.child.kill("SIGKILL");
    await bar.getByText("Stalled").waitFor({ timeout: STALLED_WITHIN });
    await bar.getByText(/media: 1 waiting/).waitFor();
    await bar.getByText("punctual work --queues media").waitFor();
    expect((await run(["status", "--check"], { cwd, env })).code).toBe(4);
  }, 120_000);
});
