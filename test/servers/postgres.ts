import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { findProgram, isRoot, versionIn, versionText } from "./programs.ts";
import type { Program } from "./server.ts";

/** Debian keeps the programs of each version in a folder that is not on the PATH; the newest comes first. */
function folders(): string[] {
  try {
    const versions = readdirSync("/usr/lib/postgresql").sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join("/usr/lib/postgresql", version, "bin"));
  } catch {
    return [];
  }
}

/** It refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  const number = (flag: string) => {
    const { status, stdout } = spawnSync("id", [flag, "postgres"], { encoding: "utf8" });
    return status === 0 ? Number(stdout) : undefined;
  };
  const uid = number("-u");
  const gid = number("-g");
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

export function findPostgres(): Program | undefined {
  const initdb = findProgram("initdb", ...folders());
  const postgres = findProgram("postgres", ...folders());
  const version = postgres && versionIn(versionText(postgres));
  if (!initdb || !postgres || !version) return undefined;
  const runAs = isRoot() ? unprivileged() : undefined;
  if (isRoot() && !runAs) return undefined;
  // A default collation that does not compare bytes, as most servers have: code that relies on bytes must say so.
  const locale = Number.parseInt(version, 10) >= 15 ? ["--locale-provider=icu", "--icu-locale=en-US"] : [];

  return {
    version,
    ...(runAs && { runAs }),
    abort: "SIGQUIT",
    end: "SIGINT",

    initialise: (dataDir) => ({
      file: initdb,
      args: [
        "-D",
        dataDir,
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        ...locale,
        "--no-sync",
      ],
    }),

    follow: (dataDir, port) => ({
      file: join(dirname(postgres), "pg_basebackup"),
      args: [
        ...["-h", "127.0.0.1", "-p", String(port), "-U", "postgres"],
        ...["-D", dataDir, "-R", "-X", "stream", "-c", "fast", "--no-sync"],
      ],
    }),

    serve({ dataDir, port, durable }) {
      const settings = {
        listen_addresses: "127.0.0.1",
        port,
        unix_socket_directories: "",
        max_connections: 300,
        shared_buffers: "64MB",
        // Far from UTC: a time that was converted by the server's zone is then wrong.
        timezone: "Asia/Kolkata",
        // Commits reach the system, so that a killed server loses nothing; they need not reach the disk.
        ...(!durable && { fsync: "off" }),
      };
      const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      return { file: postgres, args: ["-D", dataDir, ...options] };
    },
  };
}
