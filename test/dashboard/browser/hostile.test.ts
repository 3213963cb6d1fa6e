import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { useScene } from "../support/scene.ts";
import { EXACT_JSON } from "../support/seed.ts";
import { AWKWARD_NAME, HOSTILE_TEXT } from "../support/shop.ts";

const QUEUE = "odd <b>queue</b>";

const scene = useScene({ hours: 1 });

async function open(path: string, expected?: RegExp): Promise<Page> {
  return (await scene.open(path, expected ? { expected } : {})).page;
}

/** Expects that the data made no elements of its own, and that the title is the page's. */
async function expectInert(page: Page, title: string): Promise<void> {
  expect(await page.title()).toBe(`${title} · Punctual`);
  expect(await page.locator("body img, body iframe, main script, main b").count()).toBe(0);
}

const shown = HOSTILE_TEXT.replaceAll("\u001b", "\\u001b")
  .replace("\u202e", "\\u202e")
  .replace("\u202c", "\\u202c");

describe("hostile text", () => {
  test("is text in the list of runs, in failures and on the page of its queue", async () => {
    const list = await open("/runs?q=job:hostile");
    await list.getByText("</script><img src=x").first().waitFor();
    await expectInert(list, "Runs");

    const failures = await open("/failures");
    await expect.poll(() => failures.getByRole("main").textContent()).toContain(shown.slice(0, 40));
    await expectInert(failures, "Failures");

    const queues = await open("/queues");
    await queues.getByRole("link", { name: QUEUE }).click();
    await queues.getByRole("heading", { level: 1, name: QUEUE }).waitFor();
    expect(new URL(queues.url()).pathname).toBe(`/queues/${encodeURIComponent(QUEUE)}`);
    await expectInert(queues, QUEUE);
    await queues.reload();
    await queues.getByRole("heading", { level: 1, name: QUEUE }).waitFor();
  });

  test("in the address is searched for, shown and not executed", async () => {
    const query = '"</script><img src=x onerror=alert(1)>"';
    const page = await open(`/runs?q=${encodeURIComponent(query)}`, /422|400/);
    await expect
      .poll(() => page.getByRole("combobox").or(page.getByRole("searchbox")).first().inputValue())
      .toBe(query);
    await expectInert(page, "Runs");
    for (const path of ["jobs", "queues"]) {
      const unknown = await open(`/${path}/${encodeURIComponent(HOSTILE_TEXT)}`, /404/);
      await expect.poll(() => unknown.getByRole("main").textContent()).toContain(shown);
      expect(await unknown.locator("main img, main script").count()).toBe(0);
    }
  });
});

describe("a name with a slash, dots and spaces", () => {
  test("is the same on the pages of its runs and its job", async () => {
    const page = await open(`/runs/${scene.ids.exact}`);
    await page.getByRole("main").getByRole("link", { name: AWKWARD_NAME, exact: true }).first().click();
    await page.getByRole("heading", { level: 1, name: AWKWARD_NAME }).waitFor();
    await page.getByText("wrong VAT").waitFor();
    await page.goto(scene.url("/jobs"));
    await page.getByRole("link", { name: AWKWARD_NAME }).click();
    await page.getByRole("heading", { level: 1, name: AWKWARD_NAME }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/jobs/${encodeURIComponent(AWKWARD_NAME)}`);
    await expectInert(page, AWKWARD_NAME);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: AWKWARD_NAME }).waitFor();
    await page.getByRole("link", { name: "all runs" }).click();
    const jobs = page.getByRole("table", { name: "Runs" }).locator("tbody tr");
    await jobs.first().waitFor();
    for (const text of await jobs.allTextContents()) expect(text).toContain(AWKWARD_NAME);
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: AWKWARD_NAME }).waitFor();
  });
});

describe("payloads", () => {
  test("are copied as they are stored", async () => {
    const page = await open(`/runs/${scene.ids.exact}?tab=result`);
    await page.getByText("9223372036854775807").first().waitFor();
    const { json } = await page.evaluate(
      async (id) =>
        (await (await fetch(`/api/v1/runs/${id}/payload?part=result`)).json()) as { json: string },
      scene.ids.exact,
    );
    expect(json).toBe(EXACT_JSON);
    expect(await page.locator("main img, main script").count()).toBe(0);
  });

  test("of 5 MB are opened in parts, and their end is exact", { timeout: 120_000 }, async () => {
    const id = await dispatchLarge();
    const page = await open(`/runs/${id}?tab=payload`);
    await page.getByRole("button", { name: /^Load all/ }).click();
    const panel = page.getByRole("tabpanel");
    await panel.getByRole("button", { name: /^Load all/ }).waitFor({ state: "detached" });
    await panel.getByText(/last: *"the end"/).waitFor();
    await panel.getByRole("button", { name: /40.000 items/ }).click();
    await panel
      .getByRole("button", { name: /^Show 500 more/ })
      .first()
      .waitFor();
    expect(await panel.locator("li").count()).toBeLessThan(1000);
    expect(await page.locator("main img").count()).toBe(0);
    await page.getByRole("link", { name: "Runs" }).first().click();
    await page.locator(`tr[data-key="${id}"]`).waitFor();
  });
});

/** Dispatches a run whose arguments have more than 5 MB, from a process that allows them. */
async function dispatchLarge(): Promise<number> {
  const jobs = new Punctual(`sqlite:${scene.file}`, { logger: false, maxPayload: 8_000_000 });
  const rows = Array.from({ length: 40_000 }, (_, row) => `${row} ${HOSTILE_TEXT}`);
  const { id } = await jobs.dispatch("image.thumbnail", { rows, last: "the end" }).delay("1h");
  await jobs.stop();
  return id;
}
