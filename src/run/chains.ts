/**
 * A chain: runs of one lane that one claim has taken together, and that the worker executes one after the other. It
 * occupies one slot of each limit (note 36). Its runs share a lease token of their own, and limits count that token
 * once.
 */

/** Distinguishes the tokens of chains: the tokens of claims do not contain it. */
export const CHAIN_MARK = ".";

/** Returns the token of the nth chain of a claim. */
export function chainToken(claim: string, nth: number): string {
  return `${claim}${CHAIN_MARK}${nth}`;
}

/** Whether the token is a chain's. It is null only if an operator changed the row by hand. */
export function isChain(token: string | null): boolean {
  return token?.includes(CHAIN_MARK) ?? false;
}

/** Returns how many slots running runs with these tokens occupy. */
export function countSlots(tokens: string[]): number {
  const chains = tokens.filter(isChain);
  return tokens.length - chains.length + new Set(chains).size;
}
