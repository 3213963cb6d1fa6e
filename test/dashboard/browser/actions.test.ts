import { hostname } from "node:os";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../../src/index.ts";
import { live } from "../support/pages.ts";
import { useScene } from "../support/scene.ts";

const scene = useScene({ hours: 1 });

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
  test("is cancelled after a question that names the command", async () => {
    const id = await dispatch();
    const { page } = await scene.open(`/runs/${id}`);
    await button(page, /^Cancel/).click();
    await dialog(page).getByText(`punctual cancel ${id}`).waitFor();
    await confirm(page, /^Cancel the run/);
    await main(page).getByText("cancelled").first().waitFor();
    expect(await scene.jobs.state(id)).toBe("cancelled");
  });
});

describe("a job", () => {
  test("is dispatched with edited arguments, a delay and tags", async () => {
    const { page } = await scene.open("/jobs/image.thumbnail");
    await button(page, /^Dispatch/).click();
    const editor = dialog(page).getByRole("textbox", { name: /^Arguments as JSON/ });
    expect(await editor.inputValue()).toContain('"image"');
    await editor.fill('{"image": "by-hand.webp", "width": 12345678901234567890}');
    await dialog(page).getByRole("textbox", { name: "Delay" }).fill("2h");
    await dialog(page).getByRole("textbox", { name: /^Tags/ }).fill("by-hand, urgent");
    await dialog(page).getByRole("button", { name: "Dispatch", exact: true }).click();
    await page
      .getByRole("status")
      .getByText(/dispatched/)
      .waitFor();
    await page.getByText("12345678901234567890").waitFor();
    await page.getByRole("link", { name: "urgent" }).waitFor();
    const { runs } = await scene.jobs.runs({ tag: "by-hand" });
    expect(runs).toMatchObject([{ state: "scheduled", args: { image: "by-hand.webp" } }]);
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
  test("is paused with a reason that everyone sees, and resumed on its own page", async () => {
    const paused = async () => (await scene.jobs.status()).queues.find(({ name }) => name === "media")?.pause;
    const { page } = await scene.open("/queues");
    const row = page.getByRole("row").filter({ hasText: "media" });
    await row.getByRole("button", { name: "Pause…" }).click();
    await dialog(page)
      .getByRole("textbox", { name: /^Reason/ })
      .fill("disk is full");
    await dialog(page)
      .getByRole("combobox", { name: /^Resume by itself/ })
      .fill("2h");
    await dialog(page).getByText("punctual pause queue media --for 2h --reason 'disk is full'").waitFor();
    await confirm(page, /^Pause$/);
    await row.getByRole("button", { name: "Resume" }).waitFor();
    await page.getByText(/^paused .*disk is full$/).waitFor();
    expect((await paused())?.reason).toBe("disk is full");
    await page.goto(scene.url("/queues/media"));
    await main(page).getByText("disk is full").first().waitFor();
    await button(page, /^Resume/).click();
    await page.getByRole("button", { name: "Copy: punctual resume queue media" }).waitFor();
    await button(page, /^Pause/).waitFor();
    expect(await paused()).toBeNull();
  });
});

describe("a schedule", () => {
  test("runs now, is paused and resumed", async () => {
    const [schedule] = (await scene.jobs.schedules()).filter(({ paused }) => !paused);
    const { page } = await scene.open(`/schedules/${schedule!.id}`);
    await button(page, /^Run now/).click();
    await dialog(page).getByText(`punctual schedule run ${schedule!.id}`).waitFor();
    await confirm(page, /^Run now/);
    await page
      .getByRole("status")
      .getByText(/was dispatched/)
      .waitFor();
    await button(page, /^Pause/).click();
    await dialog(page).getByRole("textbox").first().fill("holidays");
    await confirm(page, /^Pause/);
    await button(page, /^Resume/).click();
    await page.getByRole("button", { name: `Copy: punctual resume schedule ${schedule!.id}` }).waitFor();
    await button(page, /^Pause/).waitFor();
    const after = (await scene.jobs.schedules()).find(({ id }) => id === schedule!.id);
    expect(after?.paused).toBe(false);
  });

  test("that is late says so in the list, where others run now", async () => {
    const { page } = await scene.open("/schedules");
    const late = page.getByRole("row").filter({ hasText: "import.legacy" });
    await late.getByText("late", { exact: true }).waitFor();
    const row = page.getByRole("row").filter({ hasText: "rollup.hourly" });
    await row.getByRole("button", { name: /^Actions/ }).click();
    await page.getByRole("button", { name: "Run now…" }).locator("visible=true").click();
    await dialog(page).getByText("punctual schedule run ").waitFor();
    await confirm(page, /^Run now$/);
    await page.getByText(/Run \d+ was dispatched/).waitFor();
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
    await result(page).getByText("2 cancelled, 1 skipped (already cancelled)").waitFor();
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

  test("of one failure form a group, which is retried as a whole", async () => {
    const { page } = await scene.open("/failures");
    const group = page.getByRole("listitem").filter({ hasText: "550 mailbox unavailable" });
    await group.getByRole("button", { name: "Retry all…" }).click();
    await dialog(page)
      .getByRole("button", { name: /^Retry \d+$/ })
      .click();
    await result(page)
      .getByText(/^\d+ retried/)
      .waitFor();
    await expect
      .poll(async () => (await scene.jobs.runs({ where: "state:failed job:mail.welcome" })).runs.length)
      .toBe(0);
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
    const waiting = await dispatch();
    const { page, served } = await scene.openOther(scene.jobs, { readOnly: true });
    const { failed } = scene.ids;
    const paths = ["queues", "jobs/image.thumbnail", "failures", `runs/${failed}`, `runs/${waiting}`, "runs"];
    for (const path of paths) {
      await page.goto(new URL(path, served.url).href);
      await page.locator("main :is(table tbody tr, dl, ul.failures)").first().waitFor();
      const names = await main(page).getByRole("button").allTextContents();
      const acting = /Pause…|Resume|Retry|Dispatch|Delete|Cancel|Run again|Mute/;
      expect(names.filter((name) => acting.test(name))).toEqual([]);
      expect(await main(page).getByRole("checkbox").count()).toBe(0);
    }
  });
});

describe("a filter of runs", () => {
  const saved = (page: Page) => main(page).getByRole("navigation", { name: "Saved filters" });

  test("is saved under a name, opens from the list and the palette, and can be removed", async () => {
    const tab = await scene.open("/runs?q=state:failed%20job:mail.*");
    const { page } = tab;
    await button(page, /^Save/).click();
    await dialog(page).getByRole("textbox", { name: "Name" }).fill("Failed mail");
    await confirm(page, /^Save$/);
    expect(await saved(page).getByRole("link", { name: "Failed mail" }).getAttribute("aria-current")).toBe(
      "true",
    );
    expect(await button(page, /^Save/).count()).toBe(0);

    const other = await scene.openBeside(tab, "/runs");
    await saved(other.page).getByRole("link", { name: "Failed mail" }).click();
    await expect.poll(() => new URL(other.page.url()).searchParams.get("q")).toBe("state:failed job:mail.*");
    await other.page.goto(scene.url("/"));
    await live(other.page);
    await other.page.keyboard.press("Control+k");
    await dialog(other.page).getByRole("combobox").fill("failed mail");
    await other.page.keyboard.press("Enter");
    await expect.poll(() => new URL(other.page.url()).searchParams.get("q")).toBe("state:failed job:mail.*");

    // A change in one tab reaches the others.
    await button(other.page, /Remove the filter Failed mail/).click();
    await saved(page).waitFor({ state: "detached" });
    await other.page.getByRole("status").getByRole("button", { name: "Undo" }).click();
    await saved(page).getByRole("link", { name: "Failed mail" }).waitFor();
  });
});

describe("a worker", () => {
  test("is paused, resumed and stopped: the row says what was asked, and when it has obeyed", async () => {
    const worker = new Punctual(`sqlite:${scene.file}`, { logger: false });
    const ended = worker.forever({ signals: false, queues: ["nothing"] });
    await new Promise((started) => worker.on("worker.started", started));
    const { page } = await scene.open("/workers");
    const own = page.getByRole("button", { name: `Actions of worker ${hostname()}:${process.pid}` });
    await own.click();
    await button(page, /^Pause/).click();
    await dialog(page).getByRole("textbox").first().fill("deployment");
    const { id } = (await scene.jobs.workers()).find(({ pid }) => pid === process.pid)!;
    await dialog(page).getByText(`punctual pause worker ${id} --reason deployment`).waitFor();
    await confirm(page, /^Pause/);
    await main(page)
      .getByText(/asked to pause .*: deployment.*Not obeyed yet/)
      .waitFor();
    await live(page);
    await main(page).getByText("paused", { exact: true }).waitFor();
    await main(page)
      .getByText(/Not obeyed yet/)
      .waitFor({ state: "detached" });

    await own.click();
    await button(page, /^Resume$/).click();
    await main(page).getByText("paused", { exact: true }).waitFor({ state: "detached" });

    await own.click();
    await button(page, /^Stop/).click();
    await dialog(page).getByText(`punctual stop ${id}`).waitFor();
    await confirm(page, /^Stop/);
    await ended;
    await worker.stop();
  });
});
