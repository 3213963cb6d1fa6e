import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Settings } from "./system.ts";

const folder = join(import.meta.dirname, "..", "peers");

/** Modules of bench/peers, each with the package that it measures. */
export type Peer = "graphile-worker" | "pg-boss" | "bullmq" | "plainjob" | "sidequest";

export const isInstalled = (peer: Peer): boolean => existsSync(join(folder, "node_modules", peer));

export const moduleOf = (peer: Peer): string => join(folder, `${peer}.ts`);

/** The configuration that a peer's documentation gives for speed. */
export async function tunedSettings(peer: Peer): Promise<Settings> {
  return ((await import(moduleOf(peer))) as { tuned: Settings }).tuned;
}

export function versionOf(peer: Peer): string {
  const { version } = JSON.parse(readFileSync(join(folder, "node_modules", peer, "package.json"), "utf8"));
  return version;
}

/** Installs the versions that bench/peers/package.json names, on first use. */
export function installPeers(): void {
  if (existsSync(join(folder, "node_modules"))) return;
  console.error("Installing the peers into bench/peers …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const args = ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
  // Native modules that have to be compiled find the headers beside this Node.
  const nodedir = dirname(dirname(realpathSync(process.execPath)));
  const { status } = spawnSync(npm, args, {
    cwd: folder,
    stdio: "inherit",
    shell: process.platform === "win32",
    env: { ...process.env, ...(existsSync(join(nodedir, "include")) && { npm_config_nodedir: nodedir }) },
  });
  if (status !== 0) console.error("The peers could not be installed; see npm's messages above.");
}

export const isAnyInstalled = (): boolean => existsSync(join(folder, "node_modules"));
