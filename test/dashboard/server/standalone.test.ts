import { once } from "node:events";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ensurePage } from "../../../scripts/build-page.ts";
import { type StartDashboardOptions, startDashboard } from "../../../src/dashboard/index.ts";
import { TestClock } from "../../../src/testing/index.ts";
import { problemOf, unopened } from "../support/server.ts";

beforeAll(ensurePage);

async function start(options: StartDashboardOptions = {}) {
  const started = await startDashboard(unopened(), { port: 0, logger: false, ...options });
  onTestFinished(() => started.stop());
  return started;
}

/** Opens an address as a browser does, and returns the cookie that it gets. */
async function signIn(address: string, headers: Record<string, string> = {}) {
  const response = await fetch(address, { redirect: "manual", headers });
  return { response, cookie: response.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
}

/** Submits the form for the token. */
const form = (url: string, token: string) =>
  fetch(url, { method: "POST", redirect: "manual", body: new URLSearchParams({ token }) });

const status = async (url: string, headers: Record<string, string> = {}) =>
  (await fetch(url, { headers })).status;

describe("the token in the address", () => {
  test("has 256 bits, and is another at each start", async () => {
    const tokens = [await start(), await start()].map(
      ({ signInUrl }) => new URL(signInUrl).searchParams.get("token")!,
    );
    for (const token of tokens) expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  test("is exchanged for a cookie, and leaves the address", async () => {
    const { signInUrl, url, port } = await start();
    const deep = signInUrl.replace("/?", "/runs/12?q=state%3Afailed&");
    const { response, cookie } = await signIn(deep);
    expect([response.status, response.headers.get("location")]).toEqual([303, "./12?q=state%3Afailed"]);
    expect(response.headers.get("set-cookie")).toMatch(
      new RegExp(`^punctual-${port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
    );
    expect(cookie).not.toContain(new URL(signInUrl).searchParams.get("token")!);
    expect(await status(url, { cookie })).toBe(200);
    expect(await status(url, { cookie: `other=1; ${cookie}; more=2` })).toBe(200);
  });

  test("reaches the cookie by a page of its own, if a link on another site was followed", async () => {
    const { signInUrl } = await start();
    const { response, cookie } = await signIn(signInUrl, { "sec-fetch-site": "cross-site" });
    expect([response.status, cookie === ""]).toEqual([200, false]);
    expect(await response.text()).toContain('http-equiv="refresh" content="0;url=./"');
  });

  test("never leads to another host", async () => {
    const { signInUrl, url } = await start();
    const token = new URL(signInUrl).search;
    for (const path of ["//evil.example/x", "/\\evil.example", "//evil.example"]) {
      const response = await fetch(url.slice(0, -1) + path + token, { redirect: "manual" });
      const location = new URL(response.headers.get("location")!, url);
      expect(location.host).toBe(new URL(url).host);
    }
  });

  test("signs one browser in, if it was made for that", async () => {
    const started = await start({ token: "a token of sixteen" });
    expect(started.signInUrl).toBe(started.url);
    const once = started.newSignInUrl();
    expect((await signIn(once)).response.status).toBe(303);
    expect((await signIn(once)).response.status).toBe(401);
  });

  test("does not count for the API, where it could stay in logs", async () => {
    const { signInUrl } = await start();
    expect(await status(signInUrl.replace("/?", "/api/v1/none?"))).toBe(401);
  });
});

describe("without the token", () => {
  test("a browser gets a form, everything else 401", async () => {
    const { url, signInUrl } = await start();
    const page = await fetch(url, { headers: { accept: "text/html" } });
    expect([page.status, (await page.text()).includes('name="token"')]).toEqual([401, true]);
    const wrong = signInUrl.replace(/token=.*/, "token=wrong");
    expect((await signIn(wrong)).response.status).toBe(401);
    for (const path of ["runs", "assets/index.js", "api/v1/none", "api/v1/meta"]) {
      expect([path, await status(url + path)]).toEqual([path, 401]);
    }
    expect(await status(url, { cookie: `punctual-${new URL(url).port}=wrong` })).toBe(401);
  });

  test("the form posts the token, which is in no URL, and leads to the page that was asked for", async () => {
    const { url, signInUrl } = await start();
    const right = new URL(signInUrl).searchParams.get("token")!;
    const asked = `${url}runs/12?q=state%3Afailed`;
    const page = await fetch(asked, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain('<form method="post">');
    const wrong = await form(asked, "wrong");
    expect([wrong.status, wrong.headers.getSetCookie()]).toEqual([401, []]);
    expect(await wrong.text()).toContain('<form method="post">');
    const opened = await form(asked, right);
    expect([opened.status, opened.headers.get("location")]).toEqual([303, "./12?q=state%3Afailed"]);
    const cookie = opened.headers.getSetCookie()[0]!.split(";")[0]!;
    expect(await status(asked, { cookie })).toBe(200);
    expect((await form(`${url}api/v1/none`, right)).status).toBe(401);
    expect((await form(url, right.repeat(200))).status).toBe(413);
  });

  test("an address that sends too many wrong tokens must wait, unless it sends the right one", async () => {
    const clock = new TestClock();
    const { url, signInUrl } = await start({ clock });
    const bearer = (token: string) => status(`${url}api/v1/none`, { authorization: `Bearer ${token}` });
    const right = new URL(signInUrl).searchParams.get("token")!;
    const { cookie } = await signIn(signInUrl);
    for (let n = 0; n < 10; n++) expect(await bearer("wrong")).toBe(401);
    expect(await bearer("wrong")).toBe(429);
    const refused = await fetch(`${url}?token=wrong`, { redirect: "manual" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect((await form(url, "wrong")).status).toBe(429);
    // Others behind the same proxy have the same address, and the right token.
    expect(await bearer(right)).toBe(404);
    expect((await signIn(signInUrl)).response.status).toBe(303);
    expect((await form(url, right)).status).toBe(303);
    expect(await status(url, { cookie })).toBe(200);
    expect(await bearer("wrong")).toBe(429);
    await clock.advance(60);
    expect(await bearer("wrong")).toBe(401);
  });
});

describe("a program", () => {
  test("sends the token with each request, and needs no origin", async () => {
    const token = "a token of sixteen";
    const { url } = await start({ token });
    const post = (headers: Record<string, string>) =>
      fetch(`${url}api/v1/none`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
      });
    expect(await problemOf(await post({ authorization: `Bearer ${token}` }))).toEqual([404, "NO_ROUTE"]);
    expect((await post({ authorization: `bearer ${token}x` })).status).toBe(401);
    expect((await post({ authorization: `Basic ${btoa(`a:${token}`)}` })).status).toBe(401);
  });
});

test("the user is that of the machine, and a viewer if the dashboard is read-only", async () => {
  const { signInUrl, url } = await start({ readOnly: true });
  const { cookie } = await signIn(signInUrl);
  const html = await (await fetch(url, { headers: { cookie } })).text();
  expect(JSON.parse(/id="bootstrap">([^<]*)</.exec(html)![1]!)).toMatchObject({
    user: { name: userInfo().username, role: "viewer" },
    readOnly: true,
  });
});

describe("the address", () => {
  test("is of this machine by default", async () => {
    const { url, host } = await start();
    expect([host, new URL(url).hostname]).toEqual(["127.0.0.1", "127.0.0.1"]);
  });

  test.each(["0.0.0.0", "::", "192.0.2.1", "jobs.example.com"])("%s needs a token", async (host) => {
    await expect(startDashboard(unopened(), { port: 0, host })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining("--token-env"),
    });
  });

  test("of all networks answers under any name, or those that were named", async () => {
    const token = "a token of sixteen";
    const any = await start({ host: "0.0.0.0", token });
    const named = await start({ host: "0.0.0.0", token, allowedHosts: ["jobs.example.com"] });
    const local = await start({ token });
    const answer = (port: number, host: string) => rawStatus(port, host, token);
    expect(await answer(any.port, "anything.example")).toBe(200);
    expect(await answer(named.port, "anything.example")).toBe(421);
    expect(await answer(named.port, "jobs.example.com")).toBe(200);
    expect(await answer(local.port, "anything.example")).toBe(421);
  });

  test("in use is an error that says what to do", async () => {
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    await expect(startDashboard(unopened(), { port })).rejects.toMatchObject({
      code: "CANNOT_LISTEN",
      message: `The dashboard cannot listen on 127.0.0.1:${port}: the port is in use. Stop the other process, or choose another port.`,
    });
  });
});

test.each(["", "short", "fifteen letters"])("the token %j is too short", async (token) => {
  await expect(startDashboard(unopened(), { port: 0, token })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining("16 characters"),
  });
});

/** Status of a request with a Host header that fetch() would not send. */
async function rawStatus(port: number, host: string, token: string): Promise<number> {
  const { request } = await import("node:http");
  const sent = request({ port, host: "127.0.0.1", headers: { host, authorization: `Bearer ${token}` } });
  sent.end();
  const [response] = await once(sent, "response");
  response.resume();
  return response.statusCode;
}
