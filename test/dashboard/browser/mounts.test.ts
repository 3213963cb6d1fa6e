import express from "express";
import helmet from "helmet";
import { describe, onTestFinished, test } from "vitest";
import { type DashboardOptions, dashboard, toNodeHandler } from "../../../src/dashboard/index.ts";
import { live, PAGES, settled } from "../support/pages.ts";
import { PREFIX, proxy } from "../support/proxy.ts";
import { useScene } from "../support/scene.ts";
import { serve } from "../support/served.ts";

const scene = useScene({ hours: 1 });

/** Serves the dashboard of the scene until the test ends. */
function mounted(options: DashboardOptions) {
  const mount = dashboard(scene.jobs, {
    auth: () => ({ user: "ana", role: "admin" }),
    logger: false,
    ...options,
  });
  onTestFinished(() => mount.close());
  return toNodeHandler(mount);
}

async function until(serving: ReturnType<typeof serve>): Promise<string> {
  const { origin, stop } = await serving;
  onTestFinished(stop);
  return origin;
}

/** Each way to mount, as the origin that a browser opens; the dashboard is at `PREFIX`. */
const mounts: Record<string, () => Promise<string>> = {
  "in Express under the defaults of helmet": () => {
    const app = express();
    app.use(helmet(), express.json());
    app.use(PREFIX, mounted({}));
    return until(serve(app));
  },
  "behind a proxy that keeps the prefix": async () =>
    until(proxy(await until(serve(mounted({ basePath: PREFIX }))), { strips: false, keepsHost: true })),
  "behind a proxy that strips the prefix": async () =>
    until(proxy(await until(serve(mounted({}))), { strips: true, keepsHost: false })),
};

describe.each(Object.entries(mounts))("%s", (name, start) => {
  // Pages differ in their depth below the mount; what else the headers of an application forbid, Express shows.
  const names = name.includes("Express")
    ? Object.keys(PAGES)
    : ["overview", "runs", "a failed run", "a queue"];

  test("pages show their data, live, without an error and without a request to another host", async () => {
    const origin = await start();
    const { page } = await scene.openAt(`${origin}${PREFIX}/`);
    for (const one of names) {
      await page.goto(`${origin}${PREFIX}${PAGES[one]!(scene.ids)}`);
      await page.locator("main h1").first().waitFor();
      await settled(page);
      await live(page);
    }
  });

  test("an action reaches the API", async () => {
    const origin = await start();
    const { page } = await scene.openAt(`${origin}${PREFIX}/queues/media`);
    await page
      .getByRole("main")
      .getByRole("button", { name: /^Pause/ })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("main").getByRole("button", { name: "Resume" }).click();
    await page
      .getByRole("main")
      .getByRole("button", { name: /^Pause/ })
      .waitFor();
  });
});
