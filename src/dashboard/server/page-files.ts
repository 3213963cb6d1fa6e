import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { HttpProblem } from "./problem.ts";

/** Folders of the page: that of the package, and in a checkout that of `scripts/build-page.ts`. */
const FOLDERS = ["../page", "../../../node_modules/.cache/punctual-dashboard"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

const TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

const COMPRESSIBLE = /^text\/|json|svg/;

interface PageFile {
  type: string;
  etag: string;
  bytes: Buffer;
  /** The bytes by content encoding, compressed on first use. */
  encoded: Map<string, Promise<Buffer>>;
}

/** The files of the page, read on first use and kept in memory. */
export class PageFiles {
  readonly #folder: string | null;
  #names: Promise<Set<string>> | null = null;
  readonly #files = new Map<string, Promise<PageFile>>();

  constructor(folder: string | null = null) {
    this.#folder = folder;
  }

  /** Returns `index.html`. Throws 503 if the page has not been built. */
  async index(): Promise<string> {
    const { bytes } = await this.#read("index.html");
    return bytes.toString("utf8");
  }

  /** Whether the page has a file of this name, such as `assets/index-3f2a.js`. */
  async has(name: string): Promise<boolean> {
    this.#names ??= this.#list();
    return (await this.#names).has(name);
  }

  /** Returns a file that the page has, compressed as the request allows. */
  async response(name: string, request: Request): Promise<Response> {
    const file = await this.#read(name);
    const headers = new Headers({
      etag: file.etag,
      // Names of assets contain a hash of their content.
      "cache-control": name.startsWith("assets/") ? "private, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
    });
    if (listed(request.headers.get("if-none-match")).includes(file.etag))
      return new Response(null, { status: 304, headers });
    headers.set("content-type", file.type);
    const encoding = COMPRESSIBLE.test(file.type)
      ? encodingFor(request.headers.get("accept-encoding"))
      : null;
    if (encoding !== null) headers.set("content-encoding", encoding);
    const bytes = encoding === null ? file.bytes : await this.#encoded(file, encoding);
    headers.set("content-length", String(bytes.byteLength));
    return new Response(request.method === "HEAD" ? null : new Uint8Array(bytes), { headers });
  }

  get #where(): string {
    return this.#folder ?? FOLDERS.find((folder) => existsSync(join(folder, "index.html"))) ?? FOLDERS[0]!;
  }

  async #list(): Promise<Set<string>> {
    const folder = this.#where;
    const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
    const files = entries.filter((entry) => entry.isFile());
    return new Set(
      files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/")),
    );
  }

  #read(name: string): Promise<PageFile> {
    let file = this.#files.get(name);
    if (!file) {
      file = this.#load(name);
      this.#files.set(name, file);
      // A page that is missing now may be built a moment later.
      file.catch(() => this.#files.delete(name));
    }
    return file;
  }

  async #load(name: string): Promise<PageFile> {
    const path = join(this.#where, name);
    const bytes = await readFile(path).catch((cause) => {
      this.#names = null;
      throw new HttpProblem({
        code: "PAGE_MISSING",
        detail: `The page of the dashboard cannot be read: ${(cause as Error).message}.`,
        hint: "Install the package again. In a checkout: npm run build. In a bundled program: keep punctual external.",
      });
    });
    const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    const type = TYPES[extname(name)] ?? "application/octet-stream";
    return { type, etag: `"${hash}"`, bytes, encoded: new Map() };
  }

  #encoded(file: PageFile, encoding: Encoding): Promise<Buffer> {
    let bytes = file.encoded.get(encoding);
    if (!bytes) {
      bytes = compress(file.bytes, encoding);
      file.encoded.set(encoding, bytes);
    }
    return bytes;
  }
}

type Encoding = "br" | "gzip";

/** Quality of Brotli: beyond 9 it takes ten times as long for 3 % less. */
const QUALITY = 9;

async function compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  const { brotliCompress, constants, gzip } = await import("node:zlib");
  if (encoding === "gzip") return promisify(gzip)(bytes);
  return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY } });
}

function encodingFor(accepted: string | null): Encoding | null {
  const names = listed(accepted)
    .filter((one) => !/;\s*q=0(\.0*)?$/.test(one))
    .map((one) => one.split(";")[0]!.trim());
  return names.includes("br") ? "br" : names.includes("gzip") ? "gzip" : null;
}

function listed(header: string | null): string[] {
  return header?.split(",").map((one) => one.trim().replace(/^W\//, "")) ?? [];
}
