import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WIDTHS } from "../support/browser.ts";
import { Scene } from "../support/scene.ts";
import { AWKWARD_NAME } from "../support/shop.ts";

/** Every page with data, as a function of the seeded runs. */
const PAGES: Record<string, (scene: Scene) => string> = {
  overview: () => "/",
  runs: () => "/runs",
  "failed runs": () => "/runs?q=state:failed",
  "a failed run": ({ ids }) => `/runs/${ids.failed}`,
  "a waiting run": ({ ids }) => `/runs/${ids.waiting}`,
  "a run with progress, logs and children": ({ ids }) => `/runs/${ids.imported}`,
  schedules: () => "/schedules",
  "a schedule": () => "/schedules/1",
  jobs: () => "/jobs",
  "a job": () => "/jobs/mail.send-invoice",
  "a job with an awkward name": () => `/jobs/${encodeURIComponent(AWKWARD_NAME)}`,
  queues: () => "/queues",
  "a queue": () => "/queues/mail",
  failures: () => "/failures",
  workers: () => "/workers",
  settings: () => "/settings",
  audit: () => "/audit",
  "a page that does not exist": () => "/nothing-here",
};

/** Rules of WCAG 2.2 and best practices that the page breaks, with the elements. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations: found } = (await page.evaluate("axe.run()")) as AxeResults;
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

/** Waits until no skeleton stands for data. */
async function settled(page: Page): Promise<void> {
  await page.locator(".skeleton, [aria-busy=true]").first().waitFor({ state: "detached" });
}

/** How many pixels the page is wider than the window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.start({ environment: "production" });
}, 180_000);
afterAll(() => scene?.stop());
afterEach(async () => {
  expect(await scene.closeTabs()).toEqual([]);
});

describe("every page breaks no rule of accessibility, light and dark, and fits a window of 320 pixels", () => {
  test.each(Object.entries(PAGES))("%s", async (_, path) => {
    const { page } = await scene.open(path(scene));
    await settled(page);
    expect(await violations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({ width: WIDTHS.phone, height: 640 });
    // Charts follow the new width a frame later.
    await expect.poll(() => overflow(page)).toBe(0);
    expect(await violations(page)).toEqual([]);
  });
});

describe("navigation", () => {
  test("every entry of the navigation leads to its page, and back returns", async () => {
    const { page } = await scene.open("/");
    const names = ["Runs", "Schedules", "Jobs", "Queues", "Failures", "Workers"];
    for (const name of names) {
      await page.getByRole("navigation").getByRole("link", { name }).first().click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
    }
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Failures" }).waitFor();
  });

  test("each link of the overview to runs leads to a list that has rows", async () => {
    const { page } = await scene.open("/");
    await settled(page);
    const links = await page
      .locator("main a[href*='runs?q=']")
      .evaluateAll((all) => all.map((link) => ({ href: String(link), text: link.textContent })));
    const hrefs = [...new Set(links.filter(({ text }) => /[1-9]/.test(text)).map(({ href }) => href))];
    expect(hrefs.length).toBeGreaterThan(3);
    for (const href of hrefs) {
      await page.goto(href);
      await settled(page);
      expect(await page.getByRole("row").count(), href).toBeGreaterThan(1);
    }
  });
});
