import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { ensurePage } from "../../../scripts/build-page.ts";
import {
  type StartDashboardOptions,
  type StartedDashboard,
  startDashboard,
} from "../../../src/dashboard/index.ts";
import { Punctual } from "../../../src/index.ts";
import { launchBrowser, openSibling, openTab, type Tab, type TabOptions } from "./browser.ts";
import { type Seeded, seed } from "./seed.ts";

export interface SceneOptions extends StartDashboardOptions {
  /** Hours of runs in the database; 0: an empty one. Default: 2. */
  hours?: number;
}

/** A dashboard on a database of its own, and a browser. */
export class Scene {
  readonly file: string;
  readonly ids: Seeded;
  readonly jobs: Punctual;
  readonly served: StartedDashboard;
  readonly browser: Browser;
  readonly #folder: string;
  readonly #tabs: Tab[] = [];

  private constructor(parts: {
    folder: string;
    ids: Seeded;
    jobs: Punctual;
    served: StartedDashboard;
    browser: Browser;
  }) {
    this.#folder = parts.folder;
    this.file = join(parts.folder, "jobs.db");
    this.ids = parts.ids;
    this.jobs = parts.jobs;
    this.served = parts.served;
    this.browser = parts.browser;
  }

  static async start({ hours = 2, ...options }: SceneOptions = {}): Promise<Scene> {
    const folder = mkdtempSync(join(tmpdir(), "punctual-scene-"));
    const file = join(folder, "jobs.db");
    await ensurePage();
    const ids = hours === 0 ? ({} as Seeded) : await seed(file, { hours });
    const jobs = new Punctual(`sqlite:${file}`, { logger: false });
    await jobs.install();
    const served = await startDashboard(jobs, { port: 0, logger: false, ...options });
    const browser = await launchBrowser();
    return new Scene({ folder, ids, jobs, served, browser });
  }

  /** The address of a page, without the token. */
  url(path: string): string {
    return this.served.url.replace(/\/$/, "") + path;
  }

  /** Opens a page in a profile of its own. */
  async open(path: string, options: Omit<TabOptions, "url"> = {}): Promise<Tab> {
    const { signInUrl } = this.served;
    const tab = await openTab(this.browser, {
      ...options,
      url: signInUrl.replace("/?", `${path}${path.includes("?") ? "&" : "?"}`),
    });
    this.#tabs.push(tab);
    return tab;
  }

  /** Opens a page in another tab of the same profile. */
  async openBeside(tab: Tab, path: string): Promise<Tab> {
    const sibling = await openSibling(tab, this.url(path));
    this.#tabs.push(sibling);
    return sibling;
  }

  /** Closes the tabs that a test has opened, and returns what went wrong in them. */
  async closeTabs(): Promise<string[]> {
    const tabs = this.#tabs.splice(0);
    for (const { context } of tabs) await context.close();
    return tabs.flatMap(({ faults }) => faults);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.served.stop();
    await this.jobs.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
