import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Scene } from "../support/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.start({ hours: 1 });
}, 180_000);
afterAll(() => scene?.stop());
afterEach(async () => {
  expect(await scene.closeTabs()).toEqual([]);
});

const main = (page: Page) => page.getByRole("main");
const dialog = (page: Page) => page.getByRole("dialog");
const button = (page: Page, name: RegExp) => main(page).getByRole("button", { name });

/** Presses the button of the open dialog that acts, and waits until the dialog is gone. */
async function confirm(page: Page, name: RegExp): Promise<void> {
  await dialog(page).getByRole("button", { name }).click();
  await dialog(page).waitFor({ state: "detached" });
}

async function dispatch(args: unknown = { image: "a.webp", width: 1 }): Promise<number> {
  return (await scene.jobs.dispatch("image.thumbnail", args).delay("1h")).id;
}

describe("a run", () => {
  test("is retried with one key", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.failed}`);
    await button(page, /^Retry/).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("status").getByText("waits for its next attempt").waitFor();
    expect(await scene.jobs.state(scene.ids.failed)).toBe("ready");
  });

  test("is cancelled after a question that names the command", async () => {
    const id = await dispatch();
    const { page } = await scene.open(`/runs/${id}`);
    await button(page, /^Cancel/).click();
    await dialog(page).getByText(`punctual cancel ${id}`).waitFor();
    await confirm(page, /^Cancel the run/);
    await main(page).getByText("cancelled").first().waitFor();
    expect(await scene.jobs.state(id)).toBe("cancelled");
  });

  test("runs again with edited arguments, whose large integers arrive unchanged", async () => {
    const id = await dispatch({ image: "a.webp", width: 1 });
    const { page } = await scene.open(`/runs/${id}`);
    await button(page, /^Run again/).click();
    await dialog(page).getByLabel("Arguments as JSON").fill('{"image":"b.webp","width":9223372036854775807}');
    await dialog(page).getByRole("button", { name: "Run with edited arguments" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(`/runs/${id}`));
    const again = Number(new URL(page.url()).pathname.split("/").at(-1));
    expect((await scene.jobs.find(again))?.rerunOf).toBe(id);
    await page.getByRole("tab", { name: "Payload" }).click();
    await page.getByText("9223372036854775807").first().waitFor();
  });

  test("is deleted after a question", async () => {
    const id = await dispatch();
    await scene.jobs.cancel(id);
    const { page } = await scene.open(`/runs/${id}`);
    await button(page, /^Delete/).click();
    await confirm(page, /^Delete the run/);
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    expect(await scene.jobs.state(id)).toBeNull();
  });
});

describe("a job", () => {
  test("is dispatched with the arguments of the form", async () => {
    const { page } = await scene.open("/jobs/image.thumbnail");
    await button(page, /^Dispatch/).click();
    await dialog(page).getByRole("textbox").first().fill('{"image":"form.webp","width":7}');
    await dialog(page).getByLabel("Delay").fill("2h");
    await dialog(page).getByLabel(/^Tags/).fill("from-the-page");
    await dialog(page)
      .getByRole("button", { name: /^Dispatch/ })
      .click();
    await page
      .getByRole("status")
      .getByText(/dispatched/)
      .waitFor();
    const { runs } = await scene.jobs.runs({ tag: "from-the-page" });
    expect(runs).toMatchObject([{ state: "scheduled", args: { image: "form.webp", width: 7 } }]);
  });

  test("is paused with a reason, and resumed", async () => {
    const { page } = await scene.open("/jobs/image.thumbnail");
    await button(page, /^Pause/).click();
    await dialog(page).getByRole("textbox").first().fill("too many");
    await confirm(page, /^Pause/);
    await main(page).getByText("too many").first().waitFor();
    await button(page, /^Resume/).click();
    await button(page, /^Pause/).waitFor();
    const job = (await scene.jobs.status()).jobs.find(({ name }) => name === "image.thumbnail");
    expect(job?.paused).toBe(false);
  });
});

describe("a queue", () => {
  test("is paused with a reason, and resumed", async () => {
    const paused = async () => (await scene.jobs.status()).queues.find(({ name }) => name === "media")?.pause;
    const { page } = await scene.open("/queues/media");
    await button(page, /^Pause/).click();
    await dialog(page).getByText("punctual pause queue media").waitFor();
    await dialog(page).getByRole("textbox").first().fill("disk is full");
    await confirm(page, /^Pause/);
    await main(page).getByText("disk is full").first().waitFor();
    expect((await paused())?.reason).toBe("disk is full");
    await button(page, /^Resume/).click();
    await button(page, /^Pause/).waitFor();
    expect(await paused()).toBeNull();
  });
});

describe("a schedule", () => {
  test("runs now, is paused and resumed", async () => {
    const [schedule] = (await scene.jobs.schedules()).filter(({ paused }) => !paused);
    const { page } = await scene.open(`/schedules/${schedule!.id}`);
    await button(page, /^Run now/).click();
    await confirm(page, /^Run now/);
    await page
      .getByRole("status")
      .getByText(/was dispatched/)
      .waitFor();
    await button(page, /^Pause/).click();
    await dialog(page).getByRole("textbox").first().fill("holidays");
    await confirm(page, /^Pause/);
    await button(page, /^Resume/).click();
    await button(page, /^Pause/).waitFor();
    const after = (await scene.jobs.schedules()).find(({ id }) => id === schedule!.id);
    expect(after?.paused).toBe(false);
  });
});

describe("many runs", () => {
  const result = (page: Page) => page.getByRole("complementary", { name: "Bulk operations" });

  test("of a selection are cancelled by keyboard alone, and the result is exact", async () => {
    const ids = [await dispatch(), await dispatch(), await dispatch()];
    await scene.jobs.cancel(ids[1]!);
    const { page } = await scene.open(`/runs?q=id:${ids.join(",")}`);
    await page.locator(`tr[data-key="${ids[0]}"]`).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Shift+X");
    await page.keyboard.press("c");
    await dialog(page).getByText("1 run of the selection").waitFor();
    await page.keyboard.press("Enter");
    await result(page).getByText("2 cancelled, 1 skipped (cancelled)").waitFor();
    for (const id of ids) expect(await scene.jobs.state(id)).toBe("cancelled");
  });

  test("that match a query are cancelled after the number was typed", async () => {
    const dispatches = Array.from({ length: 150 }, (_, n) =>
      scene.jobs.dispatch("image.thumbnail", { image: `bulk-${n}.webp`, width: 4711 }),
    );
    await Promise.all(dispatches);
    const { page } = await scene.open("/runs?q=payload.width:4711 state:ready");
    await page.getByRole("checkbox", { name: "Select all rows on this page" }).check();
    await page.getByRole("button", { name: "Select all 150 matching" }).click();
    await page
      .getByRole("toolbar")
      .getByRole("button", { name: /^Cancel/ })
      .click();
    const act = dialog(page).getByRole("button", { name: "Cancel 150 runs" });
    expect(await act.isDisabled()).toBe(true);
    await dialog(page).getByRole("textbox").fill("150");
    await act.click();
    await result(page).getByText("150 cancelled").waitFor();
    expect(await scene.jobs.count("payload.width:4711 state:cancelled")).toMatchObject({ count: 150 });
  });

  test("of one failure are retried together", async () => {
    const { page } = await scene.open("/failures");
    await button(page, /^Retry all/)
      .first()
      .click();
    await dialog(page)
      .getByRole("button", { name: /^Retry/ })
      .click();
    await result(page)
      .getByText(/\d+ retried/)
      .waitFor();
  });
});

describe("the audit trail", () => {
  test("lists the actions with their user", async () => {
    const id = await dispatch();
    const first = await scene.open(`/runs/${id}`);
    await button(first.page, /^Cancel/).click();
    await confirm(first.page, /^Cancel the run/);
    const { page } = await scene.openBeside(first, "/audit");
    await page
      .getByRole("row")
      .filter({ hasText: String(id) })
      .first()
      .waitFor();
    const [entry] = (await scene.jobs.audit({ limit: 1 })).entries;
    expect(entry).toMatchObject({ action: "run.cancel", source: "dashboard" });
  });
});

describe("a viewer", () => {
  test("sees no actions", async () => {
    const other = await Scene.start({ hours: 0, readOnly: true });
    try {
      const id = (await other.jobs.define("report", () => {}).dispatch()).id;
      const { page } = await other.open(`/runs/${id}`);
      await main(page).getByText("ready").first().waitFor();
      expect(await button(page, /Cancel|Retry|Delete|Run again/).count()).toBe(0);
      await page.goto(other.url("/runs"));
      await page.getByRole("row").nth(1).waitFor();
      expect(await page.getByRole("checkbox").count()).toBe(0);
      expect(await other.closeTabs()).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});
