import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./cache.ts";
import { innodbOptions } from "./innodb.ts";
import { findProgram, isRoot, versionIn, versionText } from "./programs.ts";
import type { Command, Program } from "./server.ts";

/** A Debian root that contains MySQL, for Debian releases without it. */
export const mysqlRoot = (): string => join(cacheFolder(), "mysql-sid");

/** Runs a program of another Debian with that one's loader and libraries, without root or chroot. */
function fromRoot(root: string): Command | undefined {
  const server = join(root, "usr/sbin/mysqld");
  const libraries = join(root, "usr/lib");
  if (!existsSync(server)) return undefined;
  const below = (folder: string, pattern: RegExp) =>
    readdirSync(folder)
      .filter((name) => pattern.test(name))
      .map((name) => join(folder, name));
  const loader = [join(root, "usr/lib64"), libraries, ...below(libraries, /-linux-gnu/)]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => below(folder, /^ld-linux.*\.so/))[0];
  if (!loader) return undefined;
  const path = [...below(libraries, /-linux-gnu/), join(libraries, "mysql/private")].join(":");
  return {
    file: loader,
    args: ["--library-path", path, server, "--no-defaults", `--basedir=${join(root, "usr")}`],
  };
}

function candidates(): Command[] {
  const installed = findProgram("mysqld", "/usr/local/mysql/bin");
  const own = fromRoot(mysqlRoot());
  return [...(installed ? [{ file: installed, args: ["--no-defaults"] }] : []), ...(own ? [own] : [])];
}

export function findMysql(): Program | undefined {
  for (const { file, args } of candidates()) {
    const text = versionText(file, ...args);
    const version = versionIn(text);
    // MariaDB uses this name for its server too.
    if (version && !text.includes("MariaDB") && Number.parseInt(version, 10) >= 8)
      return program(file, args, version);
  }
  return undefined;
}

function program(file: string, first: string[], version: string): Program {
  const user = isRoot() ? ["--user=root"] : [];
  return {
    version,
    abort: "SIGKILL",
    end: "SIGTERM",
    initialise: (dataDir) => ({
      file,
      args: [...first, ...user, "--initialize-insecure", `--datadir=${dataDir}`],
    }),
    serve: (place) => ({
      file,
      args: [...first, ...user, ...innodbOptions(place), "--innodb-redo-log-capacity=1G", "--mysqlx=OFF"],
    }),
  };
}
