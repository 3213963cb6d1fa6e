import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { findChromium } from "./chromium.ts";

/** A viewport of each kind that people have. */
export const WIDTHS = { phone: 320, tablet: 768, desktop: 1440 } as const;

/** Without these, Chromium asks hosts of its maker at every start. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("Chromium is missing. npm test installs it on Debian, as root.");
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A tab, and everything that went wrong in it. */
export interface Tab {
  page: Page;
  context: BrowserContext;
  /**
   * Errors of the console, exceptions of the page, requests to other hosts, and dialogs that a script in hostile data
   * would open. Tests expect none.
   */
  faults: string[];
}

export interface TabOptions {
  /** Address that signs in: it contains the token. */
  url: string;
  width?: number;
  height?: number;
  theme?: "light" | "dark";
  /** Messages of the console that the test provokes on purpose, such as failed requests in an outage. */
  expected?: RegExp;
}

/** Opens a tab in a profile of its own, signs in and waits until the page shows its data. */
export async function openTab(browser: Browser, options: TabOptions): Promise<Tab> {
  const { url, width = WIDTHS.desktop, height = 900, theme = "light", expected } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
  });
  const tab = { context, page: await context.newPage(), faults: [] as string[] };
  watch(tab, new URL(url).host, expected);
  await tab.page.goto(url);
  await tab.page.locator("main h1").first().waitFor();
  return tab;
}

/** Opens another tab of the same profile, which shares its cookie. */
export async function openSibling({ context }: Tab, url: string): Promise<Tab> {
  const tab = { context, page: await context.newPage(), faults: [] as string[] };
  watch(tab, new URL(url).host);
  await tab.page.goto(url);
  await tab.page.locator("main h1").first().waitFor();
  return tab;
}

function watch({ page, faults }: Tab, host: string, expected?: RegExp): void {
  const add = (fault: string) => {
    if (!expected?.test(fault)) faults.push(fault);
  };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) add(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => add(`exception: ${error.stack ?? error.message}`));
  page.on("dialog", (dialog) => {
    add(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.host !== host && !["data:", "blob:"].includes(url.protocol)) add(`request to ${request.url()}`);
  });
}
