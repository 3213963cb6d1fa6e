import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, onTestFinished } from "vitest";
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

/** A dashboard of another instance than the scene's. */
interface OtherOptions extends StartDashboardOptions, Pick<TabOptions, "expected"> {}

/** A dashboard on a database of its own, and a browser. Its parts exist once it has started. */
export class Scene {
  jobs!: Punctual;
  served!: StartedDashboard;
  browser!: Browser;
  ids = {} as Seeded;
  readonly #folder = mkdtempSync(join(tmpdir(), "punctual-scene-"));
  readonly file: string = join(this.#folder, "jobs.db");
  readonly #options: SceneOptions;
  readonly #tabs: Tab[] = [];

  constructor(options: SceneOptions = {}) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { hours = 2, ...options } = this.#options;
    await ensurePage();
    if (hours > 0) this.ids = await seed(this.file, { hours });
    this.jobs = new Punctual(`sqlite:${this.file}`, { logger: false });
    await this.jobs.install();
    this.served = await startDashboard(this.jobs, { port: 0, logger: false, ...options });
    this.browser = await launchBrowser();
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

  /** Serves an instance until the test ends, and opens its first page in a profile of its own. */
  async openOther(jobs: Punctual, options: OtherOptions = {}): Promise<Tab & { served: StartedDashboard }> {
    const { expected, ...rest } = options;
    const served = await startDashboard(jobs, { port: 0, logger: false, ...rest });
    onTestFinished(() => served.stop());
    const tab = await openTab(this.browser, { url: served.newSignInUrl(), ...(expected && { expected }) });
    this.#tabs.push(tab);
    return { ...tab, served };
  }

  /** Opens an address that needs no token, in a profile of its own. */
  async openAt(url: string): Promise<Tab> {
    const tab = await openTab(this.browser, { url });
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
    await this.browser?.close();
    await this.served?.stop();
    await this.jobs?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A scene for the tests of a file. After each test its tabs are closed, and nothing may have gone wrong in them. */
export function useScene(options: SceneOptions = {}): Scene {
  const scene = new Scene(options);
  beforeAll(() => scene.start(), 180_000);
  afterAll(() => scene.stop());
  afterEach(async () => {
    expect(await scene.closeTabs()).toEqual([]);
  });
  return scene;
}
