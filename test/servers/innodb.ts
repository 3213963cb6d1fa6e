import { dirname, join } from "node:path";
import type { Place } from "./server.ts";

/** Parts that MariaDB and MySQL share. The character set is each server's default: tests that need another set it. */
export function innodbOptions({ dataDir, port, durable }: Place): string[] {
  const folder = dirname(dataDir);
  return [
    `--datadir=${dataDir}`,
    `--port=${port}`,
    "--bind-address=127.0.0.1",
    `--socket=${join(folder, "socket")}`,
    `--pid-file=${join(folder, "pid")}`,
    // A server that starts removes files of others in the same folder.
    `--tmpdir=${folder}`,
    "--secure-file-priv=",
    "--max-connections=300",
    "--innodb-buffer-pool-size=1G",
    "--performance-schema=OFF",
    "--skip-log-bin",
    // Far from UTC: a time that was converted by the server's zone is then wrong.
    "--default-time-zone=+05:30",
    // Commits reach the system, so that a killed server loses nothing; they need not reach the disk.
    ...(durable ? [] : ["--innodb-flush-log-at-trx-commit=2"]),
  ];
}
