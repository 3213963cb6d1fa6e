/**
 * Returns a random number in [0, 1), whatever source of random numbers an instance was given. For waits in real time
 * between processes that compete: with a test's fixed source they would all wait equally long (design note 42).
 */
export function realRandom(): number {
  return Math.random();
}

/**
 * Returns 22 random URL-safe characters. Uses Web Crypto: loading `node:crypto` would cost every process 1.5 MB more.
 */
export function randomText(): string {
  return Buffer.from(crypto.randomUUID().replaceAll("-", ""), "hex").toString("base64url");
}

/** Returns a random whole number below 2 ** 48, which JavaScript and every database hold exactly. */
export function randomNonce(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! >>> 16) * 2 ** 32 + low!;
}

/** Returns 12 random letters and digits, for ids that people type: a leading minus would be read as an option. */
export function randomId(): string {
  return randomText().replaceAll(/[-_]/g, "0").slice(0, 12);
}
