import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { ensurePage } from "../../../scripts/build-page.ts";
import { startDashboard } from "../../../src/dashboard/index.ts";
import { Punctual } from "../../../src/index.ts";
import { launchBrowser, openTab, type Tab, type TabOptions } from "./browser.ts";
import { type Seeded, type SeedOptions, seed } from "./seed.ts";

/** A dashboard of a seeded database, and a browser. No worker runs unless a test starts one. */
export interface SeededDashboard {
  jobs: Punctual;
  ids: Seeded;
  /** Address without the token, such as `http://127.0.0.1:40123/`. */
  url: string;
  /** Opens a page below the mount in a new profile that is signed in. */
  open(path: string, options?: Omit<TabOptions, "url">): Promise<Tab>;
  stop(): Promise<void>;
}

/** Seeds a database in a temporary folder, and serves its dashboard on a free port. */
export async function startSeeded(options: SeedOptions = { hours: 4 }): Promise<SeededDashboard> {
  await ensurePage();
  const folder = await mkdtemp(join(tmpdir(), "punctual-dashboard-"));
  const file = join(folder, "jobs.db");
  const ids = await seed(file, options);
  const jobs = new Punctual(`sqlite:${file}`, { logger: false });
  const started = await startDashboard(jobs, { port: 0 });
  const browser: Browser = await launchBrowser();
  return {
    jobs,
    ids,
    url: started.url,
    async open(path, tabOptions = {}) {
      const tab = await openTab(browser, { ...tabOptions, url: started.newSignInUrl() });
      await tab.page.goto(new URL(path, started.url).href);
      await tab.page.locator("main h1").first().waitFor({ state: "attached" });
      return tab;
    },
    async stop() {
      await browser.close();
      await started.stop();
      await jobs.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
