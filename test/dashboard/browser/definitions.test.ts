import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startDashboard } from "../../../src/dashboard/index.ts";
import { openTab } from "../support/browser.ts";
import { Scene } from "../support/scene.ts";
import { AWKWARD_NAME } from "../support/shop.ts";

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.start({ hours: 4 });
}, 300_000);

afterAll(() => scene?.stop());

afterEach(async () => {
  expect(await scene.closeTabs()).toEqual([]);
});

describe("queues", () => {
  test("a queue is paused with a reason that everyone sees, and resumed", async () => {
    const { page } = await scene.open("/queues");
    const row = page.getByRole("row").filter({ hasText: "media" });
    await row.getByRole("button", { name: "Pause…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: /^Reason/ }).fill("disk is full");
    await dialog.getByRole("combobox", { name: /^Resume by itself/ }).fill("2h");
    await dialog.getByText("punctual pause queue media --for 2h --reason 'disk is full'").waitFor();
    await dialog.getByRole("button", { name: "Pause", exact: true }).click();
    const resume = row.getByRole("button", { name: "Resume" });
    await resume.waitFor();
    await page.getByText(/^paused .*disk is full$/).waitFor();
    const { queues } = await scene.jobs.status();
    expect(queues.find(({ name }) => name === "media")).toMatchObject({ paused: true });
    await resume.click();
    await row.getByRole("button", { name: "Pause…" }).waitFor();
  });
});

describe("jobs", () => {
  test("a name with a slash, dots and spaces leads to its page, and its runs to their list", async () => {
    const { page } = await scene.open("/jobs");
    await page.getByRole("link", { name: AWKWARD_NAME }).click();
    await page.getByRole("heading", { name: AWKWARD_NAME, level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toContain(encodeURIComponent(AWKWARD_NAME));
    await page.getByText("wrong VAT").waitFor();
    await page.getByRole("link", { name: "all runs" }).click();
    await page.getByRole("table", { name: "Runs" }).getByText(AWKWARD_NAME).first().waitFor();
  });

  test("a run is dispatched with edited arguments, a delay and tags", async () => {
    const { page } = await scene.open("/jobs/image.thumbnail");
    await page.getByRole("button", { name: "Dispatch…" }).click();
    const dialog = page.getByRole("dialog");
    const editor = dialog.getByRole("textbox", { name: /^Arguments as JSON/ });
    expect(await editor.inputValue()).toContain('"image"');
    await editor.fill('{"image": "by-hand.webp", "width": 12345678901234567890}');
    await dialog.getByRole("textbox", { name: "Delay" }).fill("2h");
    await dialog.getByRole("textbox", { name: /^Tags/ }).fill("by-hand, urgent");
    await dialog.getByRole("button", { name: "Dispatch", exact: true }).click();
    await page.getByText("12345678901234567890").waitFor();
    await page.getByRole("link", { name: "urgent" }).waitFor();
    const { runs } = await scene.jobs.runs({ tag: "by-hand" });
    expect(runs).toMatchObject([{ state: "scheduled" }]);
  });
});

describe("schedules", () => {
  test("a late one says why, and a schedule runs now", async () => {
    const { page } = await scene.open("/schedules");
    const late = page.getByRole("row").filter({ hasText: "import.legacy" });
    await late.getByText("late", { exact: true }).waitFor();
    const row = page.getByRole("row").filter({ hasText: "rollup.hourly" });
    await row.getByRole("button", { name: /^Actions/ }).click();
    await page.getByRole("button", { name: "Run now…" }).locator("visible=true").click();
    await page.getByRole("dialog").getByRole("button", { name: "Run now", exact: true }).click();
    await page.getByText(/Run \d+ was dispatched/).waitFor();
  });
});

describe("failures", () => {
  test("runs of one cause form a group, which is retried as a whole", async () => {
    const { page } = await scene.open("/failures");
    const group = page.getByRole("listitem").filter({ hasText: "550 mailbox unavailable" });
    await group.getByRole("button", { name: "Retry all…" }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Retry \d+$/ })
      .click();
    await page.getByText(/^\d+ retried/).waitFor();
    await expect
      .poll(async () => (await scene.jobs.runs({ where: "state:failed job:mail.welcome" })).runs.length)
      .toBe(0);
  });
});

test("the audit trail lists who did what", async () => {
  await scene.jobs.pauseQueue("reports", { by: "ana", reason: "audit me" });
  const { page } = await scene.open("/audit");
  await page.getByRole("table", { name: "Actions" }).getByRole("row").nth(1).waitFor();
});

test("a read-only dashboard offers no action", async () => {
  const readOnly = await startDashboard(scene.jobs, { port: 0, readOnly: true, logger: false });
  const { page, context } = await openTab(scene.browser, { url: readOnly.newSignInUrl() });
  try {
    for (const path of ["queues", "jobs/image.thumbnail", "failures", `runs/${scene.ids.failed}`]) {
      await page.goto(new URL(path, readOnly.url).href);
      await page.locator("main :is(table, dl, ul.failures)").first().waitFor();
      const names = await page.locator("main").getByRole("button").allTextContents();
      const acting = /Pause…|Resume|Retry|Dispatch|Delete|Cancel|Run again/;
      expect(names.filter((name) => acting.test(name))).toEqual([]);
    }
  } finally {
    await context.close();
    await readOnly.stop();
  }
});
