import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { live } from "../support/pages.ts";
import { useScene } from "../support/scene.ts";

const scene = useScene({ hours: 1 });

const rates = (page: Page) => page.getByRole("table", { name: "Rates" });

test("the page of a job shows its rates, that of its queue, and the keys that are closed", async () => {
  const { page } = await scene.open("/jobs/shop.push-order");
  await live(page);
  const row = (text: string) => rates(page).getByRole("row").filter({ hasText: text });
  await row("this job").getByText("200 in 1 h, burst 50").waitFor();
  await row("this job").getByRole("meter", { name: "Starts spent" }).waitFor();
  expect(await row("this job").getByRole("meter").getAttribute("value")).toBe("7");
  await row("key harbour").getByText("3 / 3").waitFor();
  await row("key nordwind").getByRole("time").waitFor();
  await row("queue shop api").getByText("7 / 60").waitFor();
  expect(await row("linden").count()).toBe(0);
  await page.getByText("2 of 3 keys closed").waitFor();
  expect(await row("harbour").getByRole("link").getAttribute("href")).toContain(
    "/runs?q=job:shop.push-order+key:harbour+is:waiting",
  );
  await row("queue shop api").getByRole("link", { name: "shop api" }).click();
  await page.getByRole("heading", { level: 1, name: "shop api" }).waitFor();
  await row("this queue").getByText("60 in 1 h").waitFor();
});

test("a start is counted on the open page of the queue and in the list", async () => {
  const { page } = await scene.open("/queues/shop%20api");
  await live(page);
  await rates(page).getByText("7 / 60").waitFor();
  const list = await scene.open("/queues");
  await live(list.page);
  const row = list.page.getByRole("row").filter({ hasText: "shop api" });
  await row.getByText("7 / 60").waitFor();
  // The instance of the scene defines no jobs: its worker would claim none.
  const order = scene.jobs
    .define("shop.push-order", async (_args: { shop: string; order: number }) => {})
    .queue("shop api")
    .concurrency(0)
    .rate(200, "1h", { burst: 50, perKey: 3, by: ({ shop }) => shop });
  await order.dispatch({ shop: "linden", order: 2 });
  await scene.jobs.run({ queues: ["shop api"] });
  await rates(page).getByText("8 / 60").waitFor();
  await row.getByText("8 / 60").waitFor();
});

test("a rate that a handler has closed says so", async () => {
  const order = scene.jobs
    .define("shop.push-order", async (_args: { shop: string; order: number }, run) => run.slowDown("10m"))
    .queue("shop api")
    .concurrency(0)
    .rate(200, "1h", { burst: 50, perKey: 3, by: ({ shop }) => shop });
  await order.dispatch({ shop: "meadow", order: 3 });
  await scene.jobs.run({ queues: ["shop api"] });
  const { page } = await scene.open("/jobs/shop.push-order");
  const row = rates(page).getByRole("row").filter({ hasText: "key meadow" });
  await row.getByText("slowed down").waitFor();
});

test("a job without rates has no panel of them", async () => {
  const { page } = await scene.open("/jobs/image.thumbnail");
  await live(page);
  await page.getByText("Last finished runs").first().waitFor();
  expect(await rates(page).count()).toBe(0);
});
