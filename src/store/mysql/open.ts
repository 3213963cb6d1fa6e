import type { DatabaseSource, OpenOptions } from "../open.ts";
import { ServerStore } from "../server/store.ts";
import type { Store } from "../store.ts";
import { mysqlParts } from "./parts.ts";

/** A URL, or a pool or a connection of mysql2 that is the caller's, who closes it. */
export async function openMysql(source: DatabaseSource, options: OpenOptions): Promise<Store> {
  return new ServerStore(await mysqlParts(source, options));
}
