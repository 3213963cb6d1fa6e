import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { RunDetail } from "../../../src/dashboard/api/contract.ts";

/** Versions of what a Next app is made of. They are installed for the test only: with its compiler, Next has 150 MB. */
export const NEXT_PACKAGES: readonly string[] = ["next@16.4.6", "react@19.3.1", "react-dom@19.3.1"];

/** Path of the mount. */
export const MOUNT = "/admin/jobs";

/** A name that a framework may decode too early. */
const NAME = "a/b c.d";

/** As the guide shows it, with users by a header. */
const ROUTE = `
import { Punctual } from "punctual";
import { dashboard } from "punctual/dashboard";

const jobs = new Punctual();
jobs.define("${NAME}", () => {});
const auth = (request) => {
  const role = request.headers.get("x-role");
  return role === null ? null : { user: "ana", role };
};
const handler = dashboard(jobs, { auth, basePath: "${MOUNT}" });
export { handler as DELETE, handler as GET, handler as POST };
`;

const OTHER = `
export const GET = () => new Response("of the app");
`;

/** Writes an app with the dashboard as a catch-all route handler, and one route of its own. */
export function writeNextApp(folder: string): void {
  const files = {
    "next.config.mjs": 'export default { serverExternalPackages: ["punctual"] };\n',
    [`app${MOUNT}/[[...path]]/route.js`]: ROUTE,
    "app/other/route.js": OTHER,
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/** Next counts its users at hosts of its maker unless it is told not to. */
export const NEXT_ENVIRONMENT: Record<string, string> = {
  NEXT_TELEMETRY_DISABLED: "1",
  NODE_ENV: "production",
};

const admin = { "x-role": "admin" };

/** Checks the dashboard of the app at `origin`: the page, the API, refusals and streams, and the app beside it. */
export async function checkMount(origin: string): Promise<void> {
  const base = origin + MOUNT;
  expect(await (await fetch(`${origin}/other`)).text()).toBe("of the app");
  for (const path of ["", "/", "/runs", "/runs/12?q=state:failed", `/jobs/${encodeURIComponent(NAME)}`]) {
    const page = await fetch(base + path, { headers: admin });
    expect([path, page.status, page.headers.get("cache-control")]).toEqual([path, 200, "no-store"]);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*trusted-types/);
    const html = await page.text();
    const files = [...html.matchAll(/\s(?:src|href)="([^"]+)"/g)].map(([, url]) => new URL(url!, page.url));
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const file of files) expect((await fetch(file, { headers: admin })).status).toBe(200);
    const { root } = JSON.parse(/id="bootstrap">([^<]*)</.exec(html)![1]!) as { root: string };
    expect(new URL(root, page.url).href).toBe(`${base}/`);
  }
  await checkWrites(base, origin);
  await checkStreams(base);
}

async function checkWrites(base: string, origin: string): Promise<void> {
  const post = (headers: Record<string, string>, body = "{}") =>
    fetch(`${base}/api/v1/jobs/${encodeURIComponent(NAME)}/dispatch`, { method: "POST", headers, body });
  const json = { "content-type": "application/json", origin };
  expect((await post(json)).status).toBe(401);
  expect((await post({ ...json, "x-role": "viewer" })).status).toBe(403);
  expect((await post({ ...json, ...admin, origin: "http://evil.example" })).status).toBe(403);
  expect((await post({ ...admin, origin, "content-type": "text/plain" })).status).toBe(415);
  const value = { text: "ä".repeat(50_000) };
  const created = await post({ ...json, ...admin }, JSON.stringify({ value }));
  expect(created.status).toBe(201);
  const { id } = (await created.json()) as { id: number };
  const run = `${base}/api/v1/runs/${id}`;
  const { args, job } = (await (await fetch(run, { headers: admin })).json()) as RunDetail;
  expect([job, args.size]).toEqual([NAME, JSON.stringify(value).length + 50_000]);
  expect((await fetch(run, { method: "DELETE", headers: { ...json, ...admin } })).status).toBe(200);
  expect((await fetch(run, { headers: admin })).status).toBe(404);
}

/** A process streams to 100 clients at most: more than that come and go, so each must have been told to end. */
async function checkStreams(base: string): Promise<void> {
  for (let client = 0; client < 120; client++) {
    const leave = new AbortController();
    const stream = await fetch(`${base}/api/v1/events`, { headers: admin, signal: leave.signal });
    expect([client, stream.status]).toEqual([client, 200]);
    const { value } = await stream.body!.getReader().read();
    expect(new TextDecoder().decode(value)).toMatch(/^(event|id|:|retry)/);
    leave.abort();
  }
}
