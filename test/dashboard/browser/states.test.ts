import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RunsResponse } from "../../../src/dashboard/api/contract.ts";
import { Punctual } from "../../../src/index.ts";
import { startServer } from "../../servers/start.ts";
import { useScene } from "../support/scene.ts";

const scene = useScene({ hours: 1 });

const main = (page: Page) => page.getByRole("main");

describe("a database on PostgreSQL", () => {
  test("without tables, and one that answers too slowly, are explained; the page heals by itself", async () => {
    const server = await startServer("postgres");
    onTestFinished(() => server.stop());
    const jobs = new Punctual(server.url, { logger: false });
    onTestFinished(() => jobs.stop());
    const { page, served } = await scene.openOther(jobs, { expected: /503|504|Failed to load/ });
    await page.getByText("Punctual is not installed in this database").waitFor({ timeout: 40_000 });
    await page.getByText("punctual install", { exact: true }).first().waitFor();
    await jobs.install();
    await page.getByText("not installed").first().waitFor({ state: "detached", timeout: 40_000 });
    await jobs.define("report", () => {}).dispatch();

    // A statement that waits for a lock is cancelled after the time limit like one that reads too much.
    const { Client } = (await import("pg")).default;
    const lock = new Client({ connectionString: server.url });
    await lock.connect();
    onTestFinished(() => lock.end());
    await lock.query("begin");
    await lock.query("lock table punctual_runs in access exclusive mode");
    await page.goto(`${served.url}runs?q=job:report`);
    await main(page).getByText("Too much data for this filter").waitFor({ timeout: 40_000 });
    await main(page).getByRole("button", { name: "Only the last 24 hours" }).waitFor();
    // The lock is still held, so the page cannot have read the list again before the click.
    await main(page).getByRole("button", { name: "Only the last hour" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("job:report after:1h");
    await lock.query("rollback");
    await page.locator("tr[data-key]").first().waitFor({ timeout: 40_000 });
  }, 180_000);
});

describe("runs that are due without a worker", () => {
  test("are waiting runs on the overview and on the page of their queue", async () => {
    const jobs = new Punctual("sqlite::memory:", { logger: false });
    onTestFinished(() => jobs.stop());
    jobs.define("report", () => {});
    await jobs.dispatch("report").queue("slow").delay("1h");
    const overdue = await jobs.dispatch("report").queue("slow").delay("200ms");
    await expect.poll(() => jobs.count("is:due")).toMatchObject({ count: 1 });
    const { page, served } = await scene.openOther(jobs);
    const waiting = page.locator(".tile").filter({ has: page.getByRole("heading", { name: "Waiting" }) });
    await waiting.getByText("1 scheduled").waitFor();
    expect(await waiting.locator(".tile-value").textContent()).toBe("1");
    await waiting.locator(".tile-link").click();
    await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("is:due");
    await page.locator(`tr[data-key="${overdue.id}"]`).waitFor();
    expect(await page.locator("tr[data-key]").count()).toBe(1);
    await page.goto(`${served.url}queues/slow`);
    await main(page).getByText("No live worker serves this queue, and runs wait.").waitFor();
    await main(page).getByText("no worker", { exact: true }).first().waitFor();
  });
});

describe("a list", () => {
  test("without a match names the part of the query that excludes most", async () => {
    const { page } = await scene.open("/runs?q=job:mail.welcome%20queue:nowhere%20state:completed");
    await main(page).getByText("No run matches").waitFor();
    const relaxed = main(page).getByRole("list", { name: "With one part less" });
    await relaxed.getByText("queue:nowhere").waitFor();
    await relaxed.getByRole("link").first().click();
    await page.locator("tr[data-key]").first().waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBe("job:mail.welcome state:completed");
  });

  test("is downloaded as the API returns it", async () => {
    const { page } = await scene.open("/runs?q=job:mail.welcome%20state:failed");
    await page.locator("tr[data-key]").first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      main(page)
        .getByRole("link", { name: /as JSON/ })
        .click(),
    ]);
    expect(download.suggestedFilename()).toBe("runs.json");
    const { items } = JSON.parse(readFileSync(await download.path(), "utf8")) as RunsResponse;
    const rows = await page.locator("tr[data-key]").all();
    const shown = await Promise.all(rows.map(async (row) => Number(await row.getAttribute("data-key"))));
    expect(items.map(({ id }) => id)).toEqual(shown);
    expect(new Set(items.map(({ job, state }) => `${job} ${state}`))).toEqual(
      new Set(["mail.welcome failed"]),
    );
  });

  test("shows the chosen columns, also when it is opened again", async () => {
    const { page } = await scene.open("/runs?q=job:mail.welcome");
    const titles = () => page.locator(".runs thead th:visible").allTextContents();
    await page.locator("tr[data-key]").first().waitFor();
    const before = await titles();
    expect(before).toContain("Payload");
    await page.getByRole("button", { name: "Choose columns" }).click();
    const columns = page.getByRole("group", { name: "Columns of the list" });
    await columns.getByLabel("Payload").uncheck();
    await columns.getByLabel("Priority").check();
    await expect.poll(titles).not.toContain("Payload");
    await page.reload();
    await page.locator("tr[data-key]").first().waitFor();
    expect(await titles()).toEqual(
      before.flatMap((title) => (title === "Payload" ? [] : title === "Try" ? ["Priority", "Try"] : [title])),
    );
    await page.getByRole("button", { name: "Choose columns" }).click();
    await page.getByRole("button", { name: "Default columns" }).click();
    await expect.poll(titles).toEqual(before);
  });

  test("keeps its filter in the address", async () => {
    const tab = await scene.open("/schedules?show=paused");
    await main(tab.page).getByRole("button", { name: "Paused", pressed: true }).waitFor();
    await tab.page.goto(scene.url("/jobs"));
    await main(tab.page).getByRole("searchbox").fill("thumb");
    await expect.poll(() => tab.page.locator("tr[data-key]").count()).toBe(1);
    const other = await scene.openBeside(
      tab,
      new URL(tab.page.url()).pathname + new URL(tab.page.url()).search,
    );
    await expect.poll(() => other.page.locator("tr[data-key]").count()).toBe(1);
  });
});

describe("a run", () => {
  test("that changed meanwhile refuses an action with its reason", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.failed}`, { expected: /409/ });
    await main(page)
      .getByRole("button", { name: /^Retry/ })
      .waitFor();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await scene.jobs.retry(scene.ids.failed);
    await main(page)
      .getByRole("button", { name: /^Retry/ })
      .click();
    await page.getByText(`Cannot retry run ${scene.ids.failed}`).waitFor();
  });
});

describe("versions", () => {
  test("that differ are named in a bar; under a schema that is too new, actions are not offered", async () => {
    const db = new DatabaseSync(scene.file);
    try {
      const now = Date.now();
      const facts = JSON.stringify({ version: "0.0.1", memory: 0, load: 0, lag: 0, children: [] });
      db.prepare(
        "insert into punctual_workers (id, host, pid, parallel, started_at, seen_at, facts) values ('old', 'web', 7, 5, ?, ?, ?)",
      ).run(now, now + 3600_000, facts);
      const { page } = await scene.open(`/runs/${scene.ids.cancelled}`);
      const bar = page.getByRole("status").filter({ hasText: "Versions differ" });
      await bar.getByText("0.0.1").waitFor({ timeout: 40_000 });
      await main(page)
        .getByRole("button", { name: /^Retry/ })
        .waitFor();
      await bar.getByRole("button", { name: "Hide this bar" }).click();
      await bar.waitFor({ state: "detached" });
      db.exec("insert into punctual_migrations (number, applied_at, compatible_from) values (999, 0, 999)");
      await page.getByText("Actions are disabled.").waitFor({ timeout: 60_000 });
      await main(page)
        .getByRole("button", { name: /^Retry/ })
        .waitFor({ state: "detached" });
      db.exec("delete from punctual_migrations where number = 999");
      await main(page)
        .getByRole("button", { name: /^Retry/ })
        .waitFor({ timeout: 60_000 });
    } finally {
      db.exec("delete from punctual_workers where id = 'old'");
      db.close();
    }
  }, 120_000);

  test("of page and script that differ during a deployment: the page loads again", async () => {
    const { page } = await scene.open("/runs");
    let served = 0;
    // The HTML of another version, as a process that is being replaced would serve it.
    await page.route(scene.url("/jobs"), async (route) => {
      const response = await route.fetch();
      const html = await response.text();
      served += 1;
      const body = served === 1 ? html.replace(/index-[\w-]+\.js/, "index-00000000.js") : html;
      await route.fulfill({ response, body });
    });
    await page.goto(scene.url("/jobs"));
    await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
    expect(served).toBe(2);
  });
});

describe("a group of failures", () => {
  test("is muted with a reason and an end, and unmuted again", async () => {
    const { page } = await scene.open("/failures");
    const group = main(page).getByRole("listitem").filter({ hasText: "hostile" });
    await group.getByRole("button", { name: "Mute…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/^Reason/).fill("the provider works on it");
    await dialog.getByLabel("End by itself after").fill("1d");
    await dialog
      .getByText(/punctual mute [0-9a-f]{16} --for 1d --reason 'the provider works on it'/)
      .waitFor();
    await dialog.getByRole("button", { name: "Mute", exact: true }).click();
    await group.getByText(/muted by .*: the provider works on it/).waitFor();
    const [mute] = await scene.jobs.mutes();
    expect(mute).toMatchObject({ reason: "the provider works on it" });
    await main(page).getByRole("button", { name: "Muted 1" }).click();
    await expect.poll(() => main(page).locator("li.failure-group").count()).toBe(1);
    await group.getByRole("button", { name: "Unmute" }).click();
    await expect.poll(async () => (await scene.jobs.mutes()).length).toBe(0);
  });
});
