/** Rows of the table `gates`. They are made with the schema, so that no claim creates or deletes one under load. */
export const GATES = 256;

/** Returns the gate of a limit: an FNV-1a hash of its name, the same in every process. Limits may share a gate. */
export function gateOf(limit: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < limit.length; index++) {
    hash = Math.imul(hash ^ limit.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % GATES;
}
