import { PunctualError } from "../errors.ts";

/** The part of Standard Schema that Punctual uses. Zod, Valibot, ArkType and others implement it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InputOf<Schema> = Schema extends StandardSchema<infer Input, unknown> ? Input : never;
export type OutputOf<Schema> = Schema extends StandardSchema<infer _, infer Output> ? Output : never;

export function isSchema(value: unknown): value is StandardSchema {
  return typeof (value as StandardSchema | null)?.["~standard"]?.validate === "function";
}

/**
 * Returns the output of the schema for these arguments. Throws INVALID_ARGS with the first five issues and their paths.
 */
export async function validate<Output>(
  schema: StandardSchema<unknown, Output>,
  args: unknown,
  name: string,
): Promise<Output> {
  const checked = await schema["~standard"].validate(args);
  if (!checked.issues) return checked.value;
  const issues = checked.issues.slice(0, 5).map(({ message, path = [] }) => {
    const where = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return where ? `${where}: ${message}` : message;
  });
  throw new PunctualError(
    "INVALID_ARGS",
    `The arguments of "${name}" do not fit its schema: ${issues.join("; ")}.`,
  );
}
