import { describe, expect, test } from "vitest";
import { createApi } from "../../../src/dashboard/api/api.ts";
import type { Problem } from "../../../src/dashboard/api/contract.ts";
import { Redaction } from "../../../src/run/redaction.ts";
import { open } from "../../api/support/instance.ts";
import { serve } from "../support/api.ts";

/** The least role of every route that changes something. All others are for viewers. */
const ROLES: Record<string, "operator" | "admin"> = {
  "POST /runs/:id/retry": "operator",
  "POST /runs/:id/cancel": "operator",
  "POST /runs/:id/rerun": "operator",
  "DELETE /runs/:id": "admin",
  "POST /runs/bulk": "operator",
  "POST /bulk/:id/stop": "operator",
  "POST /batches/:id/seal": "operator",
  "POST /batches/:id/cancel": "operator",
  "POST /batches/:id/retry": "operator",
  "POST /failures/:fingerprint/mute": "operator",
  "POST /failures/:fingerprint/unmute": "operator",
  "POST /jobs/:name/dispatch": "operator",
  "POST /jobs/:name/pause": "operator",
  "POST /jobs/:name/resume": "operator",
  "POST /queues/:name/pause": "operator",
  "POST /queues/:name/resume": "operator",
  "POST /schedules/:id/run": "operator",
  "POST /schedules/:id/pause": "operator",
  "POST /schedules/:id/resume": "operator",
  "POST /workers/:worker/pause": "operator",
  "POST /workers/:worker/resume": "operator",
  "POST /workers/:worker/stop": "admin",
};

const settings = {
  redaction: new Redaction(),
  readOnly: false,
  allowedHosts: [],
  title: "",
  environment: null,
};

describe("roles", () => {
  test("every route has the role of this table", () => {
    const { routes } = createApi(open().jobs, settings);
    const found = routes.map(({ method, path, role }) => [`${method} ${path.slice("/api/v1".length)}`, role]);
    const changing = found.filter(([key]) => !key!.startsWith("GET "));
    expect(Object.fromEntries(changing)).toEqual(ROLES);
    expect(found.filter(([key, role]) => key!.startsWith("GET ") && role !== "viewer")).toEqual([]);
  });

  test.each(Object.entries(ROLES))("%s refuses everyone below %s", async (key, role) => {
    const { jobs } = open();
    const { viewer, operator } = serve(jobs);
    const [method, path] = key.split(" ") as [string, string];
    const init = { method, headers: { "content-type": "application/json" } };
    for (const client of role === "admin" ? [viewer, operator] : [viewer]) {
      const response = await client.request(path.replace(/:\w+/, "1"), init);
      const body = (await response.json()) as Problem;
      expect([client.role, response.status, body.code]).toEqual([client.role, 403, "ROLE_TOO_LOW"]);
    }
  });

  test("a read-only dashboard lets nobody change anything", async () => {
    const { jobs } = open();
    jobs.define("mail", () => {});
    const { id } = await jobs.dispatch("mail");
    const { admin } = serve(jobs, { readOnly: true });
    expect((await admin.post<Problem>(`/runs/${id}/cancel`)).status).toBe(403);
    expect((await admin.get(`/runs/${id}`)).body).toMatchObject({ actions: [], commands: {} });
    expect(await jobs.state(id)).toBe("ready");
  });
});
