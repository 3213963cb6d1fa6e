import type { Opened } from "./stores.ts";

/** Everything that the database stores about a run, byte by byte. */
export async function everythingOf(at: Opened, id: number): Promise<unknown> {
  return {
    runs: await at.sql("select * from punctual_runs where id = ?", id),
    history: await at.sql("select * from punctual_history where id = ?", id),
    attempts: await at.sql("select * from punctual_attempts where run_id = ? order by attempt", id),
  };
}
