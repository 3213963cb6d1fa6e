import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensurePage } from "../../../scripts/build-page.ts";
import { dashboard } from "../../../src/dashboard/index.ts";
import { PageFiles } from "../../../src/dashboard/server/page-files.ts";
import { byHeader, request, serverWith, unopened } from "../support/server.ts";

beforeAll(ensurePage);

/** URLs of scripts, styles and icons in the page. */
function urlsIn(html: string): string[] {
  return [...html.matchAll(/\s(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
}

function bootstrapOf(html: string): Record<string, unknown> {
  return JSON.parse(/id="bootstrap">([^<]*)<\/script>/.exec(html)![1]!);
}

describe.each([
  ["", ""],
  ["/a/b", "/a/b"],
  // A proxy has removed the prefix.
  ["/a/b", ""],
])("a page with basePath %j, requested below %j", (basePath, prefix) => {
  const served = dashboard(unopened(), { basePath, auth: byHeader });

  test.each(["/", "/runs", "/runs/12", "/jobs/a%2Fb.c%20d", "/jobs/x/", "/any/thing/at/all"])(
    "%s loads its files by relative URLs",
    async (path) => {
      // The browser's address always has the whole path; the one of the request may lack the prefix.
      const address = new URL(`http://localhost${basePath}${path}`);
      const response = await served(request(prefix + path));
      const html = await response.text();
      expect([response.status, response.headers.get("content-type")]).toEqual([
        200,
        "text/html; charset=utf-8",
      ]);
      const urls = urlsIn(html);
      expect(urls.length).toBeGreaterThanOrEqual(3);
      for (const url of urls) {
        const { pathname } = new URL(url, address);
        expect(pathname).toMatch(new RegExp(`^${basePath}/assets/[^/]+$`));
        const file = await served(request(prefix + pathname.slice(basePath.length)));
        expect(file.status).toBe(200);
      }
      const { root } = bootstrapOf(html) as { root: string };
      expect(new URL(root, address).pathname).toBe(`${basePath}/`);
    },
  );
});

test("the address of the mount has the page without a slash too: a framework may remove the slash", async () => {
  const served = dashboard(unopened(), { basePath: "/a/b", auth: byHeader });
  const response = await served(request("/a/b?q=1"));
  expect(response.status).toBe(200);
  const html = await response.text();
  expect(bootstrapOf(html)).toMatchObject({ root: "./b/" });
  for (const [, url] of html.matchAll(/\s(?:src|href)="([^"]+)"/g))
    expect(new URL(url!, "http://localhost/a/b").pathname).toMatch(/^\/a\/b\/assets\//);
});

test("a path that only begins like the mount is not below it", async () => {
  const served = dashboard(unopened(), { basePath: "/a/b", auth: byHeader });
  const response = await served(request("/a/bc/api/v1/none"));
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
});

test("the page has who uses it, and no text in it can end its element", async () => {
  const title = "</script><script>alert(1)</script> & $& $1";
  const served = dashboard(unopened(), {
    auth: () => ({ user: "</script><b>", role: "operator" }),
    title,
    environment: "staging",
    readOnly: true,
  });
  const html = await (await served(request("/"))).text();
  expect(html.match(/<script/g)).toHaveLength(2);
  expect(html).toContain("<title>&lt;/script&gt;");
  expect(bootstrapOf(html)).toMatchObject({
    title,
    environment: "staging",
    readOnly: true,
    user: { name: "</script><b>", role: "viewer" },
  });
});

test("the page has the API's answers, and comes without those that fail or take long", async () => {
  const answers = async (handler: () => Promise<never> | { body: unknown }) => {
    const meta = { method: "GET", path: "/api/v1/meta", role: "viewer", handler } as const;
    const response = await serverWith([meta]).handle(request("/"));
    return bootstrapOf(await response.text()).meta;
  };
  expect(await answers(() => ({ body: { version: "9" } }))).toEqual({ version: "9" });
  expect(await answers(() => Promise.reject(new Error("down")))).toBeNull();
  expect(await answers(() => new Promise(() => {}))).toBeNull();
});

test("nothing in the page is inline, and nothing comes from elsewhere", async () => {
  const html = await (await dashboard(unopened(), { auth: byHeader })(request("/"))).text();
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<base|https?:\/\//);
  const scripts = [...html.matchAll(/<script([^>]*)>([^<]*)/g)].map(([, attributes, text]) => ({
    hasSource: attributes!.includes("src="),
    isData: attributes!.includes('type="application/json"'),
    text: text!.trim(),
  }));
  for (const { hasSource, isData, text } of scripts) expect(isData || (hasSource && text === "")).toBe(true);
});

describe("a file", () => {
  const served = dashboard(unopened(), { auth: byHeader });
  const script = async () =>
    urlsIn(await (await served(request("/"))).text()).find((url) => url.endsWith(".js"))!;
  const get = async (headers: Record<string, string> = {}) =>
    served(request((await script()).slice(1), { headers }));

  test("with a hash in its name is kept for ever by the browser", async () => {
    const response = await get();
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "cache-control": "private, max-age=31536000, immutable",
      "content-type": "text/javascript; charset=utf-8",
      vary: "accept-encoding",
    });
  });

  test("is not sent again to a browser that has it", async () => {
    const etag = (await get()).headers.get("etag")!;
    const response = await get({ "if-none-match": `"other", W/${etag}` });
    expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([304, "", etag]);
  });

  test("is compressed as the browser allows", async () => {
    const plain = Buffer.from(await (await get()).arrayBuffer());
    const br = await get({ "accept-encoding": "gzip, deflate, br, zstd" });
    expect(br.headers.get("content-encoding")).toBe("br");
    expect(brotliDecompressSync(await br.arrayBuffer())).toEqual(plain);
    const gzip = await get({ "accept-encoding": "gzip;q=0.5, br;q=0" });
    expect(gzip.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(await gzip.arrayBuffer())).toEqual(plain);
    expect((await get({ "accept-encoding": "identity" })).headers.get("content-encoding")).toBeNull();
  });

  test("that the page does not have is 404; a script is one that loads the page again", async () => {
    expect((await served(request("/assets/index-0000.css"))).status).toBe(404);
    const response = await served(request("/assets/index-0000.js"));
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(await response.text()).toContain("location.reload()");
  });

  test.each([
    "/assets/../../../package.json",
    "/..%2f..%2fpackage.json",
    "/%2e%2e/package.json",
    "/assets/%00",
  ])("outside of the page is not served: %s", async (path) => {
    const response = await served(request(path));
    expect(await response.text()).not.toContain('"dependencies"');
  });

  test("is only read: other methods are refused", async () => {
    const response = await served(request("/", { method: "POST" }));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

describe("files in a folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "punctual-page-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("that has no page yet are reported, and read once they exist", async () => {
    const files = new PageFiles(folder);
    await expect(files.index()).rejects.toMatchObject({ status: 503, code: "PAGE_MISSING" });
    expect(await files.has("assets/a.js")).toBe(false);
    mkdirSync(join(folder, "assets"));
    writeFileSync(join(folder, "assets/a.js"), "1");
    await expect(files.index()).rejects.toMatchObject({ code: "PAGE_MISSING" });
    writeFileSync(join(folder, "index.html"), "<html></html>");
    expect(await files.index()).toBe("<html></html>");
    expect(await files.has("assets/a.js")).toBe(true);
  });
});
