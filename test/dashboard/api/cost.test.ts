import { StatementSync } from "node:sqlite";
import { afterEach, expect, test, vi } from "vitest";
import { open } from "../../api/support/instance.ts";
import { eventually } from "../../support/eventually.ts";
import { type Client, serve } from "../support/api.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Requests that the open pages repeat with each event during an incident. */
const LISTS = ["/runs?limit=50", "/runs/states", "/queues", "/jobs", "/failures", "/schedules", "/workers"];
const ROUNDS = 5;

/** A page: it listens for events, and reads its lists again with each overview. */
class OpenPage {
  readonly #client: Client;
  /** Overviews after which all lists have been read. */
  rounds = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  async listen(): Promise<void> {
    const { body } = await this.#client.request("/events");
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (text + value).split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) if (/^event: overview$/m.test(block)) await this.#refetch();
    }
  }

  async #refetch(): Promise<void> {
    const answers = await Promise.all(LISTS.map((path) => this.#client.get(path)));
    expect(answers.map(({ status }) => status)).toEqual(LISTS.map(() => 200));
    this.rounds++;
  }
}

/** Returns the statements that the database executed for this number of pages while runs were dispatched. */
async function statementsFor(pages: number): Promise<number> {
  const { jobs, clock } = open();
  jobs.define("mail", () => {}).concurrency(0);
  jobs.define("report", () => {}).hourly();
  const { viewer } = serve(jobs);
  await jobs.dispatch("mail");
  const methods = (["all", "get", "run", "iterate"] as const).map((name) =>
    vi.spyOn(StatementSync.prototype, name),
  );
  const opened = Array.from({ length: pages }, () => new OpenPage(viewer));
  for (const page of opened) void page.listen();
  const settle = (round: number) =>
    eventually(`round ${round} of ${pages} pages`, () => opened.every(({ rounds }) => rounds >= round));
  await settle(1);
  for (let round = 2; round <= ROUNDS; round++) {
    await jobs.dispatch("mail");
    await clock.advance(2);
    await settle(round);
  }
  expect(opened.map(({ rounds }) => rounds)).toEqual(opened.map(() => ROUNDS));
  const count = methods.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  vi.restoreAllMocks();
  return count;
}

test("twenty open pages cost the database the same statements as one", async () => {
  const one = await statementsFor(1);
  expect(one).toBeGreaterThan(ROUNDS * LISTS.length);
  expect(await statementsFor(20)).toBe(one);
});
