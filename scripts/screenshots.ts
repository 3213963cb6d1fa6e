// Writes the screenshots of the guide: a seeded shop, in light and dark, into docs/guide/images.
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { startDashboard } from "../src/dashboard/index.ts";
import { Punctual } from "../src/index.ts";
import { launchBrowser } from "../test/dashboard/support/browser.ts";
import { seed } from "../test/dashboard/support/seed.ts";
import { defineShop } from "../test/dashboard/support/shop.ts";
import { ensurePage } from "./build-page.ts";
import { root } from "./run-tool.ts";

/** Most bytes of a picture: the package contains them. */
const LARGEST = 200_000;

const images = join(root, "docs/guide/images");
const folder = mkdtempSync(join(tmpdir(), "punctual-screenshots-"));
const database = `sqlite:${join(folder, "jobs.db")}`;

await ensurePage();
mkdirSync(images, { recursive: true });
const ids = await seed(join(folder, "jobs.db"), { hostile: false });
hideCheckout(join(folder, "jobs.db"));
const jobs = new Punctual(database, { logger: false });
defineShop(jobs, { sleep: (ms) => sleep(ms), random: Math.random, outage: () => true });
const served = await startDashboard(jobs, {
  port: 0,
  logger: false,
  environment: "production",
  title: "Punctual",
});
void jobs.forever({ parallel: 20, signals: false });
const browser = await launchBrowser();

const pages = {
  overview: "",
  runs: "runs?q=-is:waiting",
  run: `runs/${ids.failed}`,
  schedules: "schedules",
};

for (const colorScheme of ["light", "dark"] as const) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.goto(served.signInUrl);
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(served.url + path);
    await page.locator("main table tbody tr, main svg").first().waitFor();
    // Events keep a connection open, so the network is never idle: the page is still once its fonts and frames are
    // drawn.
    await page
      .getByRole("region", { name: "Health and live updates" })
      .getByText("live", { exact: true })
      .waitFor();
    await page.evaluate("document.fonts.ready");
    const file = join(images, `dashboard-${name}${colorScheme === "dark" ? "-dark" : ""}.png`);
    await page.screenshot({ path: file });
    const { size } = statSync(file);
    console.log(`${file}: ${Math.round(size / 1000)} kB`);
    if (size > LARGEST) throw new Error(`${file} has ${size} bytes; at most ${LARGEST} are allowed.`);
  }
  await context.close();
}

/** Replaces the folder of this checkout in stack traces by one that a reader might have. */
function hideCheckout(file: string): void {
  const db = new DatabaseSync(file);
  const code = join(root, "test/dashboard/support");
  for (const table of ["history", "attempts", "jobs"]) {
    const column = table === "jobs" ? "last_error" : "error";
    db.prepare(`update punctual_${table} set ${column} = replace(${column}, ?, '/srv/shop/jobs')`).run(code);
  }
  db.close();
}

await browser.close();
await served.stop();
rmSync(folder, { recursive: true, force: true });
// The worker may be in the middle of a run that takes minutes.
process.exit();
