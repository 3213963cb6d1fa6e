// Builds the page of the dashboard with Vite: into `dist` for the package, and into a cache for a checkout.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./run-tool.ts";

/** Path at which the sources of the dashboard look for the page. */
const CACHE = join(root, "node_modules/.cache/punctual-dashboard");
const LOCK = `${CACHE}.lock`;
/** Age in milliseconds at which a lock counts as left behind by a killed process. */
const STALE_LOCK = 120_000;

/** Everything that the page is made of. */
const SOURCES = [
  "dashboard",
  "src/dashboard/api/contract",
  "src/dashboard/api/contract.ts",
  "src/dashboard/segment.ts",
  "package-lock.json",
];

/** Builds the page into a folder. */
export async function buildPage(folder: string): Promise<void> {
  const args = ["node_modules/vite/bin/vite.js", "build", "dashboard", "--outDir", folder, "--emptyOutDir"];
  const child = spawn(process.execPath, [...args, "--logLevel", "warn"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const code = await new Promise((ended, failed) => child.once("exit", ended).once("error", failed));
  if (code !== 0) throw new Error("The page of the dashboard could not be built; see the messages above.");
}

/** Builds the page for the sources of this checkout, unless it is up to date. Several processes may call it at once. */
export async function ensurePage(): Promise<void> {
  const hash = hashOfSources();
  const isBuilt = () => existsSync(join(CACHE, hash));
  while (!isBuilt()) {
    if (!takeLock()) {
      await sleep(100);
      continue;
    }
    try {
      if (isBuilt()) return;
      const fresh = `${CACHE}.${process.pid}`;
      await buildPage(fresh);
      writeFileSync(join(fresh, hash), "");
      rmSync(CACHE, { recursive: true, force: true });
      renameSync(fresh, CACHE);
    } finally {
      rmSync(LOCK, { recursive: true, force: true });
    }
  }
}

function takeLock(): boolean {
  try {
    mkdirSync(join(LOCK, ".."), { recursive: true });
    mkdirSync(LOCK);
    return true;
  } catch {
    const age = Date.now() - (statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > STALE_LOCK) rmSync(LOCK, { recursive: true, force: true });
    return false;
  }
}

function hashOfSources(): string {
  const hash = createHash("sha256");
  for (const source of SOURCES) {
    const path = join(root, source);
    const files = statSync(path).isDirectory()
      ? readdirSync(path, { withFileTypes: true, recursive: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .sort()
      : [path];
    for (const file of files)
      hash
        .update(`${relative(root, file)}\0`)
        .update(readFileSync(file))
        .update("\0");
  }
  return hash.digest("hex");
}

if (import.meta.main) await ensurePage();
