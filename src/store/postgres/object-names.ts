import type { Tables } from "../sql/database.ts";

/** A table name may be schema-qualified; an index name may not: an index lives in its table's schema. */
export function withoutSchema(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** Returns the name qualified with the schema of the tables, if they have one. */
export function inSchemaOf(t: Tables, name: string): string {
  const schema = schemaOf(t);
  return schema === null ? name : `${schema}.${name}`;
}

export function schemaOf(t: Tables): string | null {
  const dot = t.prefix.lastIndexOf(".");
  return dot < 0 ? null : t.prefix.slice(0, dot);
}
