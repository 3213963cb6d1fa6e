import { PunctualError } from "../../errors.ts";

/** Products that accept our statements and do not keep their promises, by the text of `version()` (note 54). */
const UNSAFE: { version: RegExp; reason: string }[] = [
  { version: /\bTiDB\b/i, reason: "TiDB accepts select … for update skip locked and locks nothing" },
  {
    version: /\bCockroachDB\b/i,
    reason: "CockroachDB has no advisory locks and no LISTEN, and drops row locks when a range moves",
  },
];

/** Throws for a product that is known to be unsafe. */
export function refuseUnsafe(version: string): void {
  const product = UNSAFE.find((one) => one.version.test(version));
  if (product) throw unsafeProduct(version, product.reason);
}

export function unsafeProduct(version: string, reason: string): PunctualError {
  return new PunctualError(
    "ENGINE_UNSAFE",
    `This database (${version}) is not safe for Punctual, because ${reason}: runs could execute twice or starve. Use PostgreSQL, MySQL, MariaDB or SQLite, or set this engine to pessimistic locking and true read committed.`,
  );
}
