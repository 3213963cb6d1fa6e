import type { Declaration, Member, TypeNode } from "./declarations.ts";

export type Schema = { [key: string]: unknown };

const PLAIN: Record<string, Schema> = {
  string: { type: "string" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  unknown: {},
};

/** Turns types of the contract into JSON schemas. Named types become references. */
export class Schemas {
  readonly #declarations: Map<string, Declaration>;

  constructor(declarations: Declaration[]) {
    this.#declarations = new Map(declarations.map((one) => [one.name, one]));
  }

  /** The schemas of all types without parameters, by name. */
  components(): Record<string, Schema> {
    const named = [...this.#declarations.values()].filter(
      ({ parameters, name }) => parameters.length === 0 && name !== "Api",
    );
    return Object.fromEntries(
      named.map((one) => {
        const schema = this.#declared(one);
        return [one.name, one.doc === null ? schema : { description: one.doc, ...schema }];
      }),
    );
  }

  /** The members of a type, those of the types that it extends included. */
  membersOf(type: TypeNode, bound: ReadonlyMap<string, TypeNode> = new Map()): Member[] {
    if (type.kind === "object")
      return type.members.map((one) => ({ ...one, type: substitute(one.type, bound) }));
    if (type.kind !== "name") throw new Error("Expected a type with members.");
    const declaration = this.#find(type.name);
    const own = new Map(
      declaration.parameters.map((name, index) => [name, substitute(type.args[index]!, bound)]),
    );
    const inherited = declaration.extends.flatMap((base) => this.membersOf(base, own));
    return [...inherited, ...this.membersOf(declaration.type, own)];
  }

  schemaOf(type: TypeNode): Schema {
    switch (type.kind) {
      case "literal":
        return type.value === null ? { type: "null" } : { const: type.value };
      case "array":
        return { type: "array", items: this.schemaOf(type.item) };
      case "object":
        return this.#object(type.members);
      case "member":
        return this.schemaOf(this.membersOf(type.of).find(({ name }) => name === type.name)!.type);
      case "union":
        return this.#union(type.any);
      case "name":
        return this.#named(type.name, type.args);
    }
  }

  #declared(declaration: Declaration): Schema {
    const { type, extends: bases, name } = declaration;
    return bases.length > 0 || type.kind === "object"
      ? this.#object(this.membersOf({ kind: "name", name, args: [] }))
      : this.schemaOf(type);
  }

  #named(name: string, args: TypeNode[]): Schema {
    if (name === "Record") return this.#record(args[0]!, args[1]!, true);
    if (name === "Partial") {
      const [inner] = args;
      if (inner?.kind === "name" && inner.name === "Record")
        return this.#record(inner.args[0]!, inner.args[1]!, false);
      throw new Error("The contract uses Partial<> of something else than Record<>.");
    }
    if (PLAIN[name]) return PLAIN[name];
    if (args.length > 0) return this.#object(this.membersOf({ kind: "name", name, args }));
    this.#find(name);
    return { $ref: `#/components/schemas/${name}` };
  }

  #record(key: TypeNode, value: TypeNode, isComplete: boolean): Schema {
    const names = this.#literals(key);
    if (value.kind === "name" && value.name === "never")
      return { type: "object", additionalProperties: false };
    const schema = this.schemaOf(value);
    if (names === null) return { type: "object", additionalProperties: schema };
    return {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, schema])),
      ...(isComplete && { required: names }),
      additionalProperties: false,
    };
  }

  /** The texts of a union; null: any text. */
  #literals(type: TypeNode): string[] | null {
    if (type.kind === "literal") return [String(type.value)];
    if (type.kind === "union") return type.any.flatMap((one) => this.#literals(one) ?? []);
    if (type.kind === "name" && type.name !== "string") return this.#literals(this.#find(type.name).type);
    return null;
  }

  #union(any: TypeNode[]): Schema {
    const values = any.filter((one) => one.kind === "literal" && typeof one.value === "string");
    if (values.length === any.length) return { enum: values.map((one) => (one as { value: unknown }).value) };
    const schemas = any.map((one) => this.schemaOf(one));
    const isPlain = schemas.every((one) => Object.keys(one).length === 1 && typeof one.type === "string");
    return isPlain ? { type: schemas.map(({ type }) => type) } : { anyOf: schemas };
  }

  #object(members: Member[]): Schema {
    const properties = members.map(({ name, type, doc }) => {
      const schema = this.schemaOf(type);
      return [name, doc === null ? schema : { ...schema, description: doc }];
    });
    const required = members.filter(({ optional }) => !optional).map(({ name }) => name);
    return {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    };
  }

  #find(name: string): Declaration {
    const found = this.#declarations.get(name);
    if (!found) throw new Error(`The contract names the type ${name}, which none of its files declares.`);
    return found;
  }
}

function substitute(type: TypeNode, bound: ReadonlyMap<string, TypeNode>): TypeNode {
  switch (type.kind) {
    case "name":
      return bound.get(type.name) ?? { ...type, args: type.args.map((one) => substitute(one, bound)) };
    case "array":
      return { ...type, item: substitute(type.item, bound) };
    case "union":
      return { ...type, any: type.any.map((one) => substitute(one, bound)) };
    case "object":
      return { ...type, members: type.members.map((one) => ({ ...one, type: substitute(one.type, bound) })) };
    default:
      return type;
  }
}
