import { describe, expect, test } from "vitest";
import type {
  BulkOperation,
  Problem,
  RunsResponse,
  StateCounts,
} from "../../../src/dashboard/api/contract.ts";
import { open } from "../../api/support/instance.ts";
import { serve } from "../support/api.ts";

async function scene(redact: readonly string[] | false = ["$.list.0", "card"]) {
  const { jobs } = open();
  jobs.define("mail", () => {
    throw new TypeError("cannot reach smtp://ana:geheim@host");
  });
  await jobs.dispatch("mail", {
    password: "hunter2",
    nested: { token: { of: "x" } },
    list: ["first", "second"],
    card: "4711",
    url: "https://ana:geheim@host",
    to: "ana",
  });
  await jobs.run();
  return { jobs, ...serve(jobs, { redact }) };
}

const HIDDEN_PATHS = [
  "password",
  "PassWord",
  "nested.token.of",
  '"password"',
  "list.0",
  "list.00",
  "card",
  "card.x",
];

describe("a condition on a value that the dashboard hides", () => {
  test.each(HIDDEN_PATHS)("payload.%s is refused wherever a query is read", async (path) => {
    const { viewer, admin } = await scene();
    for (const term of [`payload.${path}:h*`, `-payload.${path}:h*`, `state:failed payload.${path}:a,b`]) {
      const q = encodeURIComponent(term);
      const answers = [
        await viewer.get<Problem>(`/runs?q=${q}`),
        await viewer.get<Problem>(`/runs/states?q=${q}`),
        await viewer.get<Problem>(`/runs/changes?q=${q}&newest=0`),
        await admin.post<Problem>("/runs/bulk", { action: "retry", q: `job:mail ${term}` }),
        await admin.post<Problem>("/runs/bulk", { action: "delete", q: `job:mail ${term}` }),
      ];
      for (const { status, body } of answers)
        expect({ status, code: body.code }).toEqual({ status: 422, code: "HIDDEN_VALUE" });
    }
  });

  test("says which value is hidden, and what to do", async () => {
    const { viewer } = await scene();
    const { body } = await viewer.get<Problem>("/runs?q=payload.password:h*");
    expect(body.detail).toBe(
      'This dashboard hides the value at password of payloads, so that "payload.password:h*" cannot search by it.',
    );
    expect(body.hint).toContain("punctual list --where");
  });

  test.each(["to:ana", "list.1:second"])("payload.%s is not", async (term) => {
    const { viewer } = await scene();
    const { body } = await viewer.get<RunsResponse>(`/runs?q=payload.${term}`);
    expect(body.items).toHaveLength(1);
  });

  test("redact: false hides nothing, and refuses nothing", async () => {
    const { viewer } = await scene(false);
    for (const q of ["payload.password:h*", "error:geheim", "payload.url:*geheim*"])
      expect((await viewer.get<RunsResponse>(`/runs?q=${q}`)).body.items).toHaveLength(1);
  });
});

describe("a text that is shown with a hidden part", () => {
  test.each(["error:geheim", "geheim", "error:ana:g", "payload.url:*geheim*"])(
    "is not found by %s",
    async (q) => {
      const { viewer, operator } = await scene();
      const { body } = await viewer.get<RunsResponse>(`/runs?q=${q}`);
      expect(body).toMatchObject({ items: [], next: null, count: { value: 0 } });
      expect((await viewer.get<StateCounts>(`/runs/states?q=${q}`)).body.failed.value).toBe(0);
      const bulk = await operator.post<BulkOperation>("/runs/bulk", { action: "retry", q: `job:mail ${q}` });
      expect(bulk.body.total.value).toBe(0);
      const negated = await viewer.get<RunsResponse>(`/runs?q=-${q}`);
      expect(negated.body.items).toHaveLength(1);
    },
  );

  test("is found by everything else", async () => {
    const { viewer } = await scene();
    for (const q of ["mail", "errortype:TypeError", "state:failed payload.to:ana"])
      expect((await viewer.get<RunsResponse>(`/runs?q=${q}`)).body.items).toHaveLength(1);
  });
});
