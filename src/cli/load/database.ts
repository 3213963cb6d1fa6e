import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type DatabaseSource, kindOf } from "../../store/open.ts";

/** A database as it may be shown: no password, no parameters. */
export function showDatabase(source: DatabaseSource): string {
  if (typeof source !== "string") return `a ${kindOf(source)} handle`;
  if (kindOf(source) === "sqlite") return `sqlite ${pathOf(source)}`;
  try {
    const { protocol, username, host, pathname } = new URL(source);
    return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
  } catch {
    return kindOf(source);
  }
}

/** The SQLite file of a database as it is shown, if it is not there; null: it is, or there is no file to be. */
export function missingFile(shown: string | null): string | null {
  const file = /^sqlite (?!:memory:$)(.+)$/s.exec(shown ?? "")?.[1];
  return file === undefined || existsSync(file) ? null : file;
}

/** Whether both mean the same, as far as can be seen from here. */
export function isSameDatabase(one: DatabaseSource, other: DatabaseSource): boolean {
  if (typeof one !== "string" || typeof other !== "string") return one === other;
  return identityOf(one) === identityOf(other);
}

function identityOf(source: string): string {
  if (kindOf(source) !== "sqlite") {
    try {
      const { hostname, port, pathname } = new URL(source);
      const usual = { postgres: "5432", mysql: "3306", sqlite: "" }[kindOf(source)];
      return `${kindOf(source)} ${hostname}:${port || usual}${pathname}`;
    } catch {
      return source;
    }
  }
  const path = pathOf(source);
  return path === ":memory:" ? source : `sqlite ${resolve(path)}`;
}

function pathOf(source: string): string {
  return source.replace(/^sqlite:(\/\/(?=\/|\.))?/i, "").replace(/\?.*$/, "");
}
