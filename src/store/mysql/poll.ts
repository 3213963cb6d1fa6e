import type { Clock } from "../../time.ts";
import type { Sql, Tables } from "../sql/database.ts";

/** These servers cannot call, so they are asked. */
export function watchByPolling(_sql: Sql, _t: Tables, _clock: Clock, _onChange: () => void): () => void {
  return () => {};
}
