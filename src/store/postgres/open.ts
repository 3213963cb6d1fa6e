import { ServerStore } from "../server/store.ts";
import type { Store } from "../store.ts";
import { type PostgresOptions, postgresParts } from "./parts.ts";

export async function openPostgres(source: string | object, options: PostgresOptions): Promise<Store> {
  return new ServerStore(await postgresParts(source, options));
}
