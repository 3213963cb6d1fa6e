/** A `Pool` of the caller's: it counts its connections. */
export function isPool(value: unknown): boolean {
  const pool = value as { query?: unknown; connect?: unknown; totalCount?: unknown } | null;
  return (
    typeof pool?.query === "function" &&
    typeof pool.connect === "function" &&
    typeof pool.totalCount === "number"
  );
}

/** A `Client`, or one that a pool has lent; it can escape text by the rules of its server, which drivers of others do not offer. */
export function isClient(value: unknown): boolean {
  const client = value as { query?: unknown; escapeLiteral?: unknown; totalCount?: unknown } | null;
  return (
    typeof client?.query === "function" &&
    typeof client.escapeLiteral === "function" &&
    client.totalCount === undefined
  );
}

/** Whether this is a handle of the package `pg`; told by its shape, so that nothing is loaded for the question. */
export function isPostgresHandle(value: unknown): boolean {
  return (typeof value === "object" || typeof value === "function") && (isPool(value) || isClient(value));
}
