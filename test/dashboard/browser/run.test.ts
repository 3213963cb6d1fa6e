import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useScene } from "../support/scene.ts";
import { HOSTILE_TEXT } from "../support/shop.ts";

const scene = useScene({ hours: 1 });

const tab = (page: Page, name: string | RegExp) => page.getByRole("tab", { name });

describe("the page of a failed run", () => {
  test("shows its attempts in order, its error with the cause, and what can be done", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.failed}`);
    const attempts = page.getByRole("table", { name: "Attempts" }).getByRole("row");
    await expect.poll(() => attempts.count()).toBe(5);
    expect(await attempts.nth(1).textContent()).toContain("retried");
    expect(await attempts.nth(4).textContent()).toContain("failed");
    const error = page.getByRole("tabpanel");
    expect(await error.textContent()).toContain("SmtpError: The mail server did not answer within 3 s");
    expect(await error.textContent()).toContain("caused by Error: connect ETIMEDOUT 10.0.0.5:587");
    await page.getByText(`punctual retry ${scene.ids.failed}`).waitFor();
  });

  test("is copied as an issue in Markdown, without secrets", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.failed}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy as issue, in Markdown" }).click();
    await expect
      .poll(() => page.evaluate<string>("navigator.clipboard.readText()"))
      .toMatch(/^## `mail\.\S+` failed: `SmtpError: The mail server did not answer within 3 s`$/m);
    const text = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(text).toMatch(new RegExp(`^- Run: ${scene.ids.failed}, attempt 4$`, "m"));
    expect(text).toMatch(/^- Database: sqlite 3\.\S+, schema \d+$/m);
    expect(text).toContain("caused by: Error: connect ETIMEDOUT 10.0.0.5:587");
    expect(text).toMatch(/### Payload\n\n```json\n.*\[hidden\]/);
    expect(text).not.toContain("hunter2");
  });

  test("a tab is part of the address", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.failed}`);
    await tab(page, "Payload").click();
    await page.getByText("customerId:").waitFor();
    expect(new URL(page.url()).searchParams.get("tab")).toBe("payload");
    await page.reload();
    await page.getByText("customerId:").waitFor();
    expect(await page.getByRole("tabpanel").textContent()).not.toContain("hunter2");
  });

  test("the key r retries it, and the page shows its new state", async () => {
    const [run] = (await scene.jobs.runs({ where: "state:failed job:geo.refresh", limit: 1 })).runs;
    const { page } = await scene.open(`/runs/${run!.id}`);
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("status").getByText("waits for its next attempt").waitFor();
    await page.getByRole("button", { name: "Cancel…" }).waitFor();
    expect((await scene.jobs.find(run!.id))!.state).toBe("ready");
  });

  test("deleting asks first, Escape keeps the run, and confirming deletes it", async () => {
    const [run] = (await scene.jobs.runs({ where: "state:failed job:mail.welcome", limit: 1 })).runs;
    const { page } = await scene.open(`/runs/${run!.id}`);
    const button = page.getByRole("button", { name: "Delete…" });
    await button.click();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await scene.jobs.find(run!.id)).not.toBeNull();
    await button.click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete the run" }).click();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor({ state: "attached" });
    expect(await scene.jobs.find(run!.id)).toBeNull();
  });
});

describe("data of runs", () => {
  test("hostile text is shown exactly and executed nowhere", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.hostile}`);
    const shown = HOSTILE_TEXT.replaceAll("\u001b", "\\u001b")
      .replace("\u202e", "\\u202e")
      .replace("\u202c", "\\u202c");
    for (const name of ["Error", "Payload", "Progress", /^Logs/, "Raw"]) {
      await tab(page, name).click();
      await expect.poll(() => page.getByRole("tabpanel").textContent()).toContain(shown);
    }
    expect(await page.title()).toContain("hostile");
    expect(await page.locator("main img, main script").count()).toBe(0);
  });

  test("integers above 2^53, the order of keys and repeated keys are exact", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.exact}?tab=payload`);
    await page.getByText("9223372036854775807").waitFor();
    const members = await page.getByRole("tabpanel").locator("li li").allTextContents();
    // Each line ends with the buttons that copy its value and its path.
    const shown = members.map((member) => member.replace(/valuepath$/, ""));
    expect(shown).toEqual([
      "id: 9223372036854775807",
      "b: 1",
      '10: "ten"',
      '2: "two"',
      "b: -0.10",
      "tiny: 1e-400",
      "list: []",
    ]);
  });

  test("a run is dispatched again with edited arguments, whose integers arrive unchanged", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.exact}`);
    await page.getByRole("button", { name: "Run again…" }).click();
    const dialog = page.getByRole("dialog");
    const editor = dialog.getByRole("textbox", { name: "Arguments as JSON" });
    expect(await editor.inputValue()).toContain("9223372036854775807");
    await editor.fill('{"id": 9223372036854775806,}');
    await dialog.getByText("Line 1, column 28: Expected a key in double quotes, found }").waitFor();
    expect(await dialog.getByRole("button", { name: "Run with edited arguments" }).isDisabled()).toBe(true);
    await editor.fill('{"id": 9223372036854775806}');
    await dialog.getByRole("button", { name: "Run with edited arguments" }).click();
    await page.getByText("Run again of").waitFor();
    const again = Number(new URL(page.url()).pathname.split("/").at(-1));
    expect((await scene.jobs.find(again))?.rerunOf).toBe(scene.ids.exact);
    await tab(page, "Payload").click();
    await page.getByText("9223372036854775806").waitFor();
  });

  test("a large result is rendered in parts", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.exported}?tab=result`);
    await page.getByRole("button", { name: /^Load all/ }).click();
    const panel = page.getByRole("tabpanel");
    await panel.getByRole("button", { name: /^Show 500 more of 2 900$/ }).waitFor();
    expect(await panel.locator("li").count()).toBeLessThan(200);
  });

  test("a run that waits says why", async () => {
    const { page } = await scene.open(`/runs/${scene.ids.waiting}`);
    await expect.poll(() => page.locator("main").textContent()).toMatch(/No worker is alive|No live worker/);
  });

  test("an unknown id says what may have happened", async () => {
    const { page } = await scene.open("/runs/99999999", { expected: /404/ });
    await page.getByRole("heading", { name: "No run 99999999" }).waitFor();
    await page.getByText("deleted, perhaps by retention").waitFor();
    await page.getByRole("main").getByRole("link", { name: "All runs" }).waitFor();
  });
});

test("a running run shows its log and progress as they grow, and ends on the page", async () => {
  const { jobs } = scene;
  let next = () => {};
  const step = () => new Promise<void>((resolve) => (next = resolve));
  jobs
    .define("live.import", async (_args: object, run) => {
      for (let done = 1; done <= 3; done++) {
        run.log(`row ${done} arrived`);
        run.progress({ done, of: 3 });
        await step();
      }
      return "all rows";
    })
    .queue("live");
  const { id } = await jobs.dispatch("live.import", {});
  const worker = jobs.forever({ queues: ["live"], signals: false, schedules: false });
  const { page } = await scene.open(`/runs/${id}`);
  for (let done = 1; done <= 3; done++) {
    await page.getByRole("log").getByText(`row ${done} arrived`).waitFor();
    await page.getByText(`${done} of 3`, { exact: false }).first().waitFor();
    next();
  }
  await page.getByText("It has completed.").waitFor();
  await tab(page, "Result").click();
  await page.getByText('"all rows"').waitFor();
  void worker;
});
