import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { live } from "../support/pages.ts";
import { useScene } from "../support/scene.ts";

const scene = useScene({ hours: 1 });

const main = (page: Page) => page.getByRole("main");
const dialog = (page: Page) => page.getByRole("dialog");

const thumbnails = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    scene.jobs
      .declare("image.thumbnail")
      .draft()
      .args({ image: `${n}.webp`, width: 1 })
      .delay("1h"),
  );

test("a batch is found in the list by keyboard, and its numbers lead to its members", async () => {
  const { page } = await scene.open("/");
  await live(page);
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  const row = page.getByRole("row").filter({ hasText: "spring catalogue" });
  await row.getByRole("img", { name: "6 of 6 members have ended, 5 completed, 1 failed" }).waitFor();
  expect(await row.getByRole("link", { name: "1", exact: true }).getAttribute("href")).toContain(
    `/runs?q=batch:${scene.ids.batch}+state:failed`,
  );
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "spring catalogue" }).waitFor();
  const callbacks = page.getByRole("table", { name: "Callbacks of the batch" });
  await callbacks.getByRole("row").filter({ hasText: "not dispatched: members failed" }).waitFor();
  expect(await callbacks.getByRole("link", { name: /^\d+$/ }).count()).toBe(2);
  await page.getByRole("definition").getByRole("link", { name: "5", exact: true }).click();
  await expect.poll(() => page.locator("tr[data-key]").count()).toBe(5);
  await page.locator("tr[data-key] a").first().click();
  await main(page).getByRole("link", { name: "spring catalogue" }).click();
  await page.getByRole("heading", { level: 1, name: "spring catalogue" }).waitFor();
});

test("a batch is sealed, cancelled and retried after questions that name the command", async () => {
  const { id } = await scene.jobs
    .batch("by hand")
    .open()
    .add(...thumbnails(3));
  const { page } = await scene.open(`/batches/${id}`);
  await live(page);
  for (const [action, state] of [
    ["Seal", "running"],
    ["Cancel", "finished"],
    ["Retry", "running"],
  ] as const) {
    await main(page)
      .getByRole("button", { name: new RegExp(`^${action}…`) })
      .click();
    await dialog(page).getByText(`punctual batch ${action.toLowerCase()} ${id}`).waitFor();
    await dialog(page)
      .getByRole("button", { name: `${action} the batch` })
      .click();
    await dialog(page).waitFor({ state: "detached" });
    await main(page).getByText(state, { exact: true }).first().waitFor();
  }
  expect(await scene.jobs.batch(id).status()).toMatchObject({ state: "running", waiting: 3, cancelled: 0 });
  const { entries } = await scene.jobs.audit({ limit: 5 });
  expect(new Set(entries.map(({ action }) => action))).toEqual(
    new Set(["batch.retry", "batch.cancel", "batch.seal"]),
  );
  await page.getByRole("complementary", { name: "Bulk operations" }).getByText("3 retried").waitFor();
});

test("the list follows changes in place, and new batches wait until they are asked for", async () => {
  const first = await scene.jobs
    .batch("the first")
    .open()
    .add(...thumbnails(2));
  const { page } = await scene.open("/batches?show=unfinished");
  await live(page);
  const row = page.getByRole("row").filter({ hasText: "the first" });
  await row.getByText("0 of 2").waitFor();
  await scene.jobs.batch("the second").open();
  await scene.jobs.batch(first.id).cancel();
  await row.getByText("finished").waitFor();
  const pill = page.getByRole("button", { name: /1 new batch — show/ });
  await pill.waitFor();
  await page.keyboard.press("n");
  await page.getByRole("row").filter({ hasText: "the second" }).waitFor();
  await row.waitFor({ state: "detached" });
});

test("a viewer sees no actions, and an unknown batch says so", async () => {
  const { page, served } = await scene.openOther(scene.jobs, { readOnly: true, expected: /404/ });
  await page.goto(new URL(`batches/${scene.ids.openBatch}`, served.url).href);
  await page.getByRole("heading", { level: 1, name: "autumn catalogue" }).waitFor();
  await main(page).getByText("waits for the end of the batch").waitFor();
  expect(
    await main(page)
      .getByRole("button", { name: /Seal|Cancel|Retry/ })
      .count(),
  ).toBe(0);
  await page.goto(new URL("batches/4711", served.url).href);
  await page.getByRole("heading", { name: "No batch 4711" }).waitFor();
});
