import { sleepReal } from "../../time.ts";

interface Held {
  giveBack(broken: boolean): void;
}

/** How long a transaction waits for a second connection, in milliseconds. It may hold the last one itself. */
const PATIENCE = 100;

/** A connection beside the one that a transaction holds; null: none is free. */
export async function takeSpare<Connection extends Held>(connections: {
  readonly renewable: boolean;
  take(): Promise<Connection>;
}): Promise<Connection | null> {
  if (!connections.renewable) return null;
  const taking = connections.take().catch(() => null);
  const held = await Promise.race([taking, sleepReal(PATIENCE).then(() => null)]);
  if (!held) taking.then((late) => late?.giveBack(false));
  return held;
}
