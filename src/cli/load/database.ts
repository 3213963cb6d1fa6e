import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { formatPath } from "../../errors.ts";
import type { Punctual } from "../../punctual.ts";
import { type DatabaseSource, kindOf } from "../../store/open.ts";
import type { Cli } from "../cli.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import { plain } from "../output/output.ts";

/** Returns a database for display, without password and parameters. */
export function databaseLabel(source: DatabaseSource): string {
  if (typeof source !== "string") return `a ${kindOf(source)} handle`;
  if (kindOf(source) === "sqlite") return `sqlite ${pathOf(source)}`;
  try {
    const [list, first] = hostsOf(source);
    const { protocol, username, pathname } = new URL(first);
    return `${protocol}//${username === "" ? "" : `${username}@`}${list}${pathname}`;
  } catch {
    return kindOf(source);
  }
}

/** Returns the SQLite file of a databaseLabel() if it does not exist; null: it exists, or there is no file. */
export function missingFile(shown: string | null): string | null {
  const file = /^sqlite (?!:memory:$)(.+)$/s.exec(shown ?? "")?.[1];
  return file === undefined || existsSync(file) ? null : file;
}

/** Whether both name the same database: the same file, or the same host, port and database name. */
export function isSameDatabase(one: DatabaseSource, other: DatabaseSource): boolean {
  if (typeof one !== "string" || typeof other !== "string") return one === other;
  return identityOf(one) === identityOf(other);
}

function identityOf(source: string): string {
  if (kindOf(source) !== "sqlite") {
    try {
      const [list, first] = hostsOf(source);
      const usual = { postgres: "5432", mysql: "3306", sqlite: "" }[kindOf(source)];
      const hosts = list.split(",").map((host) => (/:\d+$/.test(host) ? host : `${host}:${usual}`));
      return `${kindOf(source)} ${hosts.sort().join()}${new URL(first).pathname}`;
    } catch {
      return source;
    }
  }
  const path = pathOf(source);
  return path === ":memory:" ? source : `sqlite ${resolve(path)}`;
}

/** Returns the hosts of a URL, between commas, and the URL with the first of them alone. */
function hostsOf(source: string): [list: string, first: string] {
  const [, before = "", list = "", behind = ""] =
    /^([^/]*\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s.exec(source) ?? [];
  return [list, `${before}${list.split(",")[0]}${behind}`];
}

function pathOf(source: string): string {
  return source.replace(/^sqlite:(\/\/(?=\/|\.))?/i, "").replace(/\?.*$/, "");
}

/** Opens the instance for a command that must not create a database. Throws if the SQLite file does not exist. */
export async function openExisting(cli: Cli): Promise<Punctual> {
  const jobs = await cli.open();
  const file = missingFile(await cli.database());
  if (file === null) return jobs;
  throw new Exit(
    exitCodes.database,
    `There is no database ${formatPath(plain(file))}. Name an existing one with --db, or create it: punctual install`,
  );
}
