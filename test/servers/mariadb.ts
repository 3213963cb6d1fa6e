import { innodbOptions } from "./innodb.ts";
import { findProgram, isRoot, versionIn, versionText } from "./programs.ts";
import type { Program } from "./server.ts";

export function findMariadb(): Program | undefined {
  const install = findProgram("mariadb-install-db") ?? findProgram("mysql_install_db");
  const server = findProgram("mariadbd") ?? findProgram("mysqld");
  const text = server ? versionText(server, "--no-defaults") : "";
  const version = versionIn(text);
  if (!install || !server || !version || !text.includes("MariaDB")) return undefined;
  const user = isRoot() ? ["--user=root"] : [];

  return {
    version,
    abort: "SIGKILL",
    end: "SIGTERM",

    initialise: (dataDir) => ({
      file: install,
      args: [
        "--no-defaults",
        ...user,
        `--datadir=${dataDir}`,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--innodb-log-file-size=64M",
      ],
    }),

    serve: (place) => ({
      file: server,
      args: ["--no-defaults", ...user, ...innodbOptions(place), "--innodb-log-file-size=64M"],
    }),
  };
}
