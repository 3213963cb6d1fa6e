/** For databases that find their way by themselves: to a few rows, by their key. */
export function lookUp(rows: string, table: string, on = "r.id = v.id"): string {
  return `${rows} v join ${table} r on ${on}`;
}

/** The conditions of their indexes tell them which to take. */
export function using(): string {
  return "";
}
