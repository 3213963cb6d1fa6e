import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./cache.ts";
import { givenUrl, isAvailable, missing } from "./find.ts";
import { mysqlRoot } from "./mysql.ts";
import { findProgram, isRoot } from "./programs.ts";
import { label, type ServerKind } from "./server.ts";

/** Makes a server of this kind available: on Debian, and as root, it installs a missing one. */
export function provision(kind: ServerKind): void {
  if (!isAvailable(kind)) install(kind);
  // For certificates. If it cannot be installed, the test that needs it reports that.
  if (!findProgram("openssl") && isRoot() && findProgram("apt-get")) aptInstall("openssl");
  if (kind === "postgres" && givenUrl(kind) === undefined) provisionPooler();
}

/** PgBouncer, which PostgreSQL's users often have in front of it. Its tests are left out where it is neither here nor required. */
function provisionPooler(): void {
  if (findProgram("pgbouncer")) return;
  try {
    if (!isRoot() || !findProgram("apt-get")) throw new Error("There is no way to install it here.");
    console.log("PgBouncer is not here yet; installing it …");
    aptInstall("pgbouncer");
  } catch (error) {
    const sentence = `PgBouncer was not found: install it (Debian: apt-get install pgbouncer). ${(error as Error).message}`;
    if (process.env.PUNCTUAL_TEST_REQUIRE === "all") throw new Error(sentence);
    console.log(`${sentence}\nIts tests are left out.`);
  }
}

function install(kind: ServerKind): void {
  if (!isRoot() || !findProgram("apt-get")) throw missing(kind);
  console.log(`${label[kind]} is not here yet; installing it …`);
  if (kind === "postgres") aptInstall("postgresql");
  // The whole of mariadb-server would start a server, which is not needed.
  if (kind === "mariadb") aptInstall("mariadb-server-core", "mariadb-client-core");
  if (kind === "mysql") makeMysqlRoot();
  if (!isAvailable(kind)) throw missing(kind);
}

function run(file: string, args: string[]): string {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: "utf8", env, maxBuffer: 2 ** 28 });
  if (status === 0) return stdout;
  const said = `${stdout}${stderr}`.trimEnd().split("\n").slice(-20).join("\n");
  throw new Error(`${file} ${args.join(" ")} failed:\n${said}`);
}

/** Makes apt wait for another apt instead of failing at once. */
const LOCK_WAIT = "DPkg::Lock::Timeout=300";

/** Installs packages of Debian, as root, without starting their services. */
export function aptInstall(...packages: string[]): void {
  run("apt-get", ["-o", LOCK_WAIT, "update"]);
  withoutStartingServices(() =>
    run("apt-get", ["-o", LOCK_WAIT, "install", "-y", "--no-install-recommends", ...packages]),
  );
}

/** Debian starts every server it installs, unless this file forbids it. */
function withoutStartingServices(install: () => void): void {
  const policy = "/usr/sbin/policy-rc.d";
  const theirs = existsSync(policy);
  if (!theirs) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    install();
  } finally {
    if (!theirs) rmSync(policy);
  }
}

/** Debian has MySQL only in its unstable suite, so it gets a Debian of its own; no part of it is installed on this one. */
function makeMysqlRoot(): void {
  if (!findProgram("debootstrap")) aptInstall("debootstrap");
  mkdirSync(cacheFolder(), { recursive: true });
  const unfinished = mkdtempSync(`${mysqlRoot()}.`);
  try {
    const root = join(unfinished, "root");
    run("debootstrap", ["--variant=minbase", "--include=mysql-server-core", "sid", root, ...mirror()]);
    rmSync(join(root, "var/cache/apt/archives"), { recursive: true, force: true });
    // A folder that exists and does not work was left unfinished.
    if (!isAvailable("mysql")) {
      rmSync(mysqlRoot(), { recursive: true, force: true });
      renameSync(root, mysqlRoot());
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** The mirror of Debian packages on this machine; null: debootstrap uses its default. */
function mirror(): string[] {
  const filters = ["Identifier: Packages", "Label: Debian", "Component: main"];
  const sources = spawnSync("apt-get", ["indextargets", "--format", "$(REPO_URI)", ...filters], {
    encoding: "utf8",
  });
  return sources.stdout?.split("\n").filter(Boolean).slice(0, 1) ?? [];
}
