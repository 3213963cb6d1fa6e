import { expect, test } from "vitest";
import type { Problem } from "../../src/dashboard/api/contract.ts";
import { serve } from "../dashboard/support/api.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { onEachServer } from "./support/kinds.ts";

onEachServer((kind) => {
  const at = behindProxy(kind);

  test("an outage is 503 in the dashboard's API, also if the process has never reached the server", {
    timeout: 120_000,
  }, async () => {
    const known = at.scene.punctual();
    const { viewer } = serve(known);
    expect((await viewer.get("/workers")).status).toBe(200);
    at.proxy.refuse();
    const late = serve(at.scene.punctual());
    const paths = ["/runs", "/overview", "/failures", "/queues"];
    const answers = await Promise.all(
      [viewer, late.viewer].flatMap((client) => paths.map((path) => client.get<Problem>(path))),
    );
    for (const { status, body } of answers) {
      expect([status, body.code]).toEqual([503, "DATABASE_UNAVAILABLE"]);
    }
    at.proxy.resume();
    expect((await viewer.get("/runs")).status).toBe(200);
    expect((await late.viewer.get("/overview")).status).toBe(200);
  });
});
