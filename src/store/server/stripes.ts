/** Gates share this many rows: few enough to make in advance, so that none is ever created or deleted under load. */
export const STRIPES = 256;

/** FNV-1a: the same in every process. */
export function stripeOf(gate: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < gate.length; index++) {
    hash = Math.imul(hash ^ gate.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % STRIPES;
}
