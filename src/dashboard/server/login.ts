import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, MINUTE } from "../../time.ts";
import { connectionOf } from "./connection.ts";
import { secured } from "./headers.ts";
import { mountPathOf } from "./mount.ts";
import type { Authenticate, Identity } from "./options.ts";
import { problemPage, refreshPage } from "./page.ts";
import { HttpProblem } from "./problem.ts";
import { readText } from "./request-checks.ts";

/** Wrong tokens that one address may send in a minute. */
const MOST_FAILURES = 10;
/** Most bytes of the form with the token. */
const LARGEST_FORM = 4096;
/** Addresses whose failures are counted; above it the oldest is forgotten. */
const MOST_ADDRESSES = 1000;

/** Returns a random token of 256 bits. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

export interface LoginOptions {
  token: string;
  basePath: string;
  /** Distinguishes the cookies of dashboards on one host, which differ in their ports only. */
  cookieName: string;
  identity: Identity;
  clock: Clock;
}

/**
 * Authenticates by a token. A browser sends it once, in the printed URL or by the form, and gets a cookie for it; a
 * program sends it with each request as a bearer token. The cookie is a secret of its own that ends with the process,
 * so that it cannot be guessed from a weak token.
 */
export class Login {
  readonly #options: LoginOptions;
  readonly #session = newToken();
  /** Tokens that sign one browser in. */
  readonly #oneTime = new Set<string>();
  readonly #failures = new Map<string, { count: number; since: number }>();

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** Returns a token that signs one browser in, once. */
  oneTimeToken(): string {
    const token = newToken();
    this.#oneTime.add(token);
    return token;
  }

  readonly authenticate: Authenticate = async (request) => {
    const { identity } = this.#options;
    const bearer = /^bearer\s+(.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (bearer !== undefined) return this.#isToken(bearer.trim(), request) ? identity : null;
    const { path } = mountPathOf(request, this.#options.basePath);
    const isApi = path.startsWith("/api/");
    const isPage = request.method === "GET" && !isApi;
    const token = isPage
      ? new URL(request.url).searchParams.get("token")
      : isApi
        ? null
        : await tokenOfForm(request);
    if (token !== null) {
      const isKnown = this.#oneTime.delete(token) || this.#isToken(token, request);
      return isKnown ? this.#signIn(request) : askForToken(true);
    }
    const cookie = cookieOf(request, this.#options.cookieName);
    if (cookie !== null && isEqual(cookie, this.#session)) return identity;
    return isPage && /\btext\/html\b/.test(request.headers.get("accept") ?? "") ? askForToken(false) : null;
  };

  /** Sets the cookie, and removes the token from the URL of the browser. */
  #signIn(request: Request): Response {
    const { cookieName, basePath } = this.#options;
    const { pathname, searchParams } = new URL(request.url);
    searchParams.delete("token");
    // Relative, so that it stays on this host whatever the path is.
    const target = `./${pathname.split("/").at(-1)}${searchParams.size === 0 ? "" : `?${searchParams}`}`;
    const cookie = `${cookieName}=${this.#session}; HttpOnly; SameSite=Strict; Path=${basePath || "/"}`;
    const headers = { "set-cookie": cookie };
    // After a link on another site, browsers send a strict cookie only once a page of this site has loaded the next.
    if (request.headers.get("sec-fetch-site") === "cross-site")
      return html(200, refreshPage(target), headers);
    return secured(new Response(null, { status: 303, headers: { ...headers, location: target } }));
  }

  /**
   * Compares in constant time. Throws 429 for a wrong token of an address that has sent too many. The right token
   * always passes: behind a proxy all clients have one address, and a stranger must not lock them out.
   */
  #isToken(given: string, request: Request): boolean {
    const { clock, token } = this.#options;
    if (isEqual(given, token)) return true;
    const address = connectionOf(request).address ?? "";
    const now = clock.monotonic();
    let failures = this.#failures.get(address);
    if (failures && now - failures.since >= MINUTE) {
      this.#failures.delete(address);
      failures = undefined;
    }
    if (failures && failures.count >= MOST_FAILURES) {
      throw new HttpProblem({
        code: "TOO_MANY_LOGINS",
        detail: `${address} has sent ${MOST_FAILURES} wrong tokens.`,
        hint: "Try again in a minute.",
        headers: { "retry-after": String(Math.ceil((MINUTE - (now - failures.since)) / 1000)) },
      });
    }
    if (failures) failures.count++;
    else this.#failures.set(address, { count: 1, since: now });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_ADDRESSES) this.#failures.delete(oldest!);
    return false;
  }
}

function isEqual(given: string, expected: string): boolean {
  // Hashes have equal lengths, which timingSafeEqual() requires.
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}

function cookieOf(request: Request, name: string): string | null {
  const cookies = request.headers.get("cookie")?.split(";") ?? [];
  const found = cookies.map((one) => one.trim()).find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? null;
}

/**
 * Returns the token that the form has sent; null: the request is no such form. Its origin need not be checked, since
 * only someone who knows the token gets a cookie.
 */
async function tokenOfForm(request: Request): Promise<string | null> {
  const type = request.headers.get("content-type") ?? "";
  if (request.method !== "POST" || !/^application\/x-www-form-urlencoded\b/i.test(type)) return null;
  return new URLSearchParams(await readText(request, LARGEST_FORM)).get("token");
}

/** Sends the token in the body: a URL stays in the history of the browser and in the logs of proxies. */
const FORM =
  '<form method="post"><label>Token <input type="password" name="token" required autocomplete="off" autofocus></label> <button>Open</button></form>';

function askForToken(isWrong: boolean): Response {
  const page = problemPage(
    "Punctual",
    [
      isWrong ? "This token is wrong, or of an earlier start." : "This dashboard needs its token.",
      "Open the address that the command printed when it started, or enter its token:",
    ],
    FORM,
  );
  return html(401, page);
}

function html(status: number, text: string, headers: Record<string, string> = {}): Response {
  return secured(
    new Response(text, { status, headers: { ...headers, "content-type": "text/html; charset=utf-8" } }),
  );
}
