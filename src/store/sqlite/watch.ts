import type { Clock } from "../../time.ts";
import type { Connection } from "./connection.ts";

/** How often the file is looked at. The look is one pragma, some microseconds; a run of another process waits half of this. */
const INTERVAL = 10;

/** SQLite cannot call; but `data_version` changes when another connection has committed. */
export function watchDataVersion(connection: Connection, clock: Clock, onChange: () => void): () => void {
  let stopped = false;
  let seen: unknown;
  let cancel = () => {};
  // Straight to the handle, not in its turn: the look reads one number, and an idle worker looks a hundred times a second.
  const look = () => {
    try {
      const version = connection.row<{ data_version: number }>("pragma data_version")?.data_version;
      if (seen !== undefined && version !== seen) onChange();
      seen = version;
    } catch {
      // The worker's next exchange meets the same fault and reports it.
    }
    if (!stopped) cancel = clock.after(INTERVAL, look, { background: true });
  };
  look();
  return () => {
    stopped = true;
    cancel();
  };
}
