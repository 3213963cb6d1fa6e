import { readFileSync } from "node:fs";

type Schema = Record<string, unknown>;

export interface Operation {
  "x-role": string;
  requestBody?: { content: { "application/json": { schema: Schema } } };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export const document: Document = JSON.parse(
  readFileSync(new URL("../../../docs/guide/openapi.json", import.meta.url), "utf8"),
);

/** The part of JSON Schema that the document uses: every fault of a value, with its path. */
export function faultsOf(value: unknown, schema: Schema, path = "$"): string[] {
  const fault = (text: string) => [`${path}: ${text}, got ${JSON.stringify(value)?.slice(0, 100)}`];
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.split("/").at(-1)!;
    const named = document.components.schemas[name];
    return named ? faultsOf(value, named, path) : [`${path}: no schema ${name}`];
  }
  if (Array.isArray(schema.anyOf)) {
    const all = schema.anyOf.map((one: Schema) => faultsOf(value, one, path));
    return all.some((faults) => faults.length === 0)
      ? []
      : (all.sort((a, b) => a.length - b.length).at(-1) ?? []);
  }
  if ("const" in schema && value !== schema.const) return fault(`expected ${JSON.stringify(schema.const)}`);
  if (Array.isArray(schema.enum) && !schema.enum.includes(value))
    return fault(`expected one of ${schema.enum}`);
  const types = [schema.type ?? []].flat() as string[];
  if (types.length > 0 && !types.includes(typeOf(value))) return fault(`expected ${types.join(" or ")}`);
  if (Array.isArray(value) && schema.items !== undefined)
    return value.flatMap((item, index) => faultsOf(item, schema.items as Schema, `${path}[${index}]`));
  if (typeOf(value) === "object" && schema.type === "object")
    return objectFaults(value as object, schema, path);
  return [];
}

function objectFaults(value: object, schema: Schema, path: string): string[] {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const missing = ((schema.required ?? []) as string[]).filter((name) => !(name in value));
  const others = schema.additionalProperties;
  return [
    ...missing.map((name) => `${path}.${name}: missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (own) return faultsOf(inner, own, `${path}.${name}`);
      return others === false
        ? [`${path}.${name}: unknown`]
        : faultsOf(inner, (others ?? {}) as Schema, `${path}.${name}`);
    }),
  ];
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** The schema of a successful response, by a key such as `GET /runs/:id`. */
export function responseSchema(key: string, status: number): Schema | undefined {
  return operationOf(key)?.responses[status]?.content?.["application/json"]?.schema;
}

export function operationOf(key: string): Operation | undefined {
  const [method, path] = key.split(" ") as [string, string];
  return document.paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
}
