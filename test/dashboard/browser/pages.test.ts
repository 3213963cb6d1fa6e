import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { violations } from "../support/accessibility.ts";
import { WIDTHS } from "../support/browser.ts";
import { live, PAGES, settled } from "../support/pages.ts";
import { useScene } from "../support/scene.ts";

const EVERY_PAGE: typeof PAGES = { ...PAGES, "a page that does not exist": () => "/nothing-here" };

/** How many pixels the page is wider than the window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

const scene = useScene({ hours: 1, environment: "production" });

describe("every page breaks no rule of accessibility, light and dark, and fits a window of 320 pixels", () => {
  test.each(Object.entries(EVERY_PAGE))("%s", async (_, path) => {
    const { page } = await scene.open(path(scene.ids));
    await settled(page);
    expect(await violations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violations(page, "colours")).toEqual([]);
    await page.setViewportSize({ width: WIDTHS.phone, height: 640 });
    // Charts follow the new width a frame later.
    await expect.poll(() => overflow(page)).toBe(0);
    expect(await violations(page, "layout")).toEqual([]);
  });
});

describe("navigation", () => {
  test("every entry of the navigation leads to its page, and back returns", async () => {
    const { page } = await scene.open("/");
    const names = ["Runs", "Batches", "Schedules", "Jobs", "Queues", "Failures", "Workers"];
    for (const name of names) {
      await page.getByRole("navigation").getByRole("link", { name }).first().click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
    }
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Failures" }).waitFor();
  });

  test("the current entry is in view on a phone, left of where the navigation fades out", async () => {
    for (const path of ["/jobs", "/workers"]) {
      const { page } = await scene.open(path, { width: WIDTHS.phone });
      await live(page);
      const isInView = async () => {
        const { x, width } = (await page.locator("a.nav-link[aria-current]").boundingBox())!;
        // A row scrolls by whole pixels, and its links are not whole pixels wide.
        return x >= 0 && Math.floor(x + width) <= WIDTHS.phone - 32;
      };
      // The numbers beside the entries may come after the first frame, and make them wider.
      await expect.poll(isInView).toBe(true);
    }
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
