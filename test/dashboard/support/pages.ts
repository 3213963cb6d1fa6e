import type { Page } from "playwright-core";
import type { Seeded } from "./seed.ts";
import { AWKWARD_NAME } from "./shop.ts";

/** Paths of every page with data, by the ids of the seeded runs. */
export const PAGES: Record<string, (ids: Seeded) => string> = {
  overview: () => "/",
  runs: () => "/runs",
  "failed runs": () => "/runs?q=state:failed",
  "a failed run": ({ failed }) => `/runs/${failed}`,
  "a waiting run": ({ waiting }) => `/runs/${waiting}`,
  "a run with progress, logs and children": ({ imported }) => `/runs/${imported}`,
  batches: () => "/batches",
  "a batch": ({ batch }) => `/batches/${batch}`,
  schedules: () => "/schedules",
  "a schedule": () => "/schedules/1",
  jobs: () => "/jobs",
  "a job": () => "/jobs/mail.send-invoice",
  "a job with an awkward name": () => `/jobs/${encodeURIComponent(AWKWARD_NAME)}`,
  "a job with rates": () => "/jobs/shop.push-order",
  queues: () => "/queues",
  "a queue": () => "/queues/mail",
  "a queue with a rate": () => "/queues/shop%20api",
  failures: () => "/failures",
  workers: () => "/workers",
  settings: () => "/settings",
  audit: () => "/audit",
};

/** Waits until the page is live: by then it listens to keys. */
export async function live(page: Page): Promise<void> {
  await page
    .getByRole("region", { name: "Health and live updates" })
    .getByText("live", { exact: true })
    .waitFor();
}

/** Waits until no skeleton stands for data. */
export async function settled(page: Page): Promise<void> {
  await page.locator(".skeleton, [aria-busy=true]").first().waitFor({ state: "detached" });
}
