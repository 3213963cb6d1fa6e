import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./cache.ts";
import { FAKETIME_PACKAGE, findFaketime } from "./faketime.ts";
import { givenUrl, isAvailable, missing } from "./find.ts";
import { GALERA_PACKAGES, hasGalera } from "./galera.ts";
import { hasGroupReplication } from "./group-replication.ts";
import { mysqlRoot } from "./mysql.ts";
import { isPatroniHere, PATRONI_PACKAGES } from "./patroni.ts";
import { findProgram, isRoot } from "./programs.ts";
import { label, type ServerKind } from "./server.ts";

/** Makes a server of this kind available: on Debian, and as root, it installs a missing one. */
export function provision(kind: ServerKind): void {
  if (!isAvailable(kind)) install(kind);
  // For certificates. If it cannot be installed, the test that needs it reports that.
  if (!findProgram("openssl") && isRoot() && findProgram("apt-get")) aptInstall("openssl");
  if (givenUrl(kind) === undefined) provisionBeside(programsBeside(kind));
}

/** A program beside a server. Its tests are left out where it is neither here nor required. */
export interface Program {
  name: string;
  isHere(): boolean;
  /** Of Debian; none: it comes with the server. */
  packages: string[];
}

/** Returns the programs that tests of this kind of server need. */
export function programsBeside(kind: ServerKind): Program[] {
  const faketime = {
    name: "libfaketime",
    isHere: () => findFaketime() !== undefined,
    packages: [FAKETIME_PACKAGE],
  };
  const others: Record<ServerKind, Program[]> = {
    postgres: [
      // PostgreSQL's users often have it in front of the server.
      { name: "PgBouncer", isHere: () => findProgram("pgbouncer") !== undefined, packages: ["pgbouncer"] },
      { name: "Patroni", isHere: isPatroniHere, packages: PATRONI_PACKAGES },
    ],
    mariadb: [{ name: "Galera", isHere: hasGalera, packages: GALERA_PACKAGES }],
    mysql: [{ name: "MySQL's plugin group_replication", isHere: hasGroupReplication, packages: [] }],
  };
  return [faketime, ...others[kind]];
}

/** Installs the programs that are missing. Throws if one cannot be installed and all are required. */
export function provisionBeside(
  programs: Program[],
  isRequired: boolean = process.env.PUNCTUAL_TEST_REQUIRE === "all",
): void {
  const sentences = programs.flatMap((program) => installBeside(program) ?? []);
  if (sentences.length === 0) return;
  if (isRequired) throw new Error(sentences.join("\n"));
  for (const sentence of sentences) console.log(`${sentence}\nIts tests are left out.`);
}

/** Returns a sentence if the program is missing and cannot be installed. */
function installBeside({ name, isHere, packages }: Program): string | null {
  if (isHere()) return null;
  if (packages.length === 0) return `${name} was not found.`;
  try {
    if (!isRoot() || !findProgram("apt-get")) throw new Error("There is no way to install it here.");
    console.log(`${name} is not here yet; installing it …`);
    aptInstall(...packages);
    if (!isHere()) throw new Error("It was installed, but its programs were not found.");
    return null;
  } catch (error) {
    return `${name} was not found: install it (Debian: apt-get install ${packages.join(" ")}). ${(error as Error).message}`;
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

/** Debian has MySQL only in its unstable suite, so it gets a Debian of its own; nothing of it is installed here. */
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
