/** Where the database finds its way by itself: to a few rows, by their key. */
export function lookUp(rows: string, table: string, column = "id"): string {
  return `${rows} v join ${table} r on r.${column} = v.id`;
}
