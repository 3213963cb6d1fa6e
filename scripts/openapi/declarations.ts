/** A type of the contract. */
export type TypeNode =
  | { kind: "name"; name: string; args: TypeNode[] }
  | { kind: "literal"; value: string | number | null }
  | { kind: "array"; item: TypeNode }
  | { kind: "union"; any: TypeNode[] }
  | { kind: "object"; members: Member[] }
  | { kind: "member"; of: TypeNode; name: string };

export interface Member {
  name: string;
  optional: boolean;
  type: TypeNode;
  doc: string | null;
}

/** An interface or a type alias of the contract. */
export interface Declaration {
  name: string;
  parameters: string[];
  extends: TypeNode[];
  type: TypeNode;
  doc: string | null;
}

const TOKEN = /\/\*\*([\s\S]*?)\*\/|\/\/[^\n]*|"((?:[^"\\]|\\.)*)"|`[^`]*`|[A-Za-z_$][\w$]*|\d+|[^\s]/g;

interface Token {
  text: string;
  kind: "doc" | "string" | "word" | "number" | "mark";
}

/**
 * Reads the exported interfaces and type aliases of a source file: the part of TypeScript that the contract uses.
 * Throws for anything else, so that the contract cannot outgrow it unnoticed.
 */
export function readDeclarations(source: string): Declaration[] {
  return new Reader(tokensOf(source)).all();
}

function tokensOf(source: string): Token[] {
  return [...source.matchAll(TOKEN)].flatMap((match): Token[] => {
    const [text, doc, string] = match;
    if (doc !== undefined) return [{ kind: "doc", text: doc.replace(/\s*\n\s*\*\s?/g, " ").trim() }];
    if (text.startsWith("//")) return [];
    if (string !== undefined) return [{ kind: "string", text: JSON.parse(text) as string }];
    if (/^[A-Za-z_$]/.test(text)) return [{ kind: "word", text }];
    return [{ kind: /^\d/.test(text) ? "number" : "mark", text }];
  });
}

class Reader {
  readonly #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  all(): Declaration[] {
    const found: Declaration[] = [];
    while (this.#at < this.#tokens.length) {
      const doc = this.#doc();
      if (this.#at >= this.#tokens.length) break;
      const isExported = this.#take("export");
      if (isExported && this.#take("interface")) found.push(this.#interface(doc));
      else if (isExported && this.#take("type") && !this.#is("*") && !this.#is("{"))
        found.push(this.#alias(doc));
      else this.#skipStatement();
    }
    return found;
  }

  #interface(doc: string | null): Declaration {
    const name = this.#word();
    const parameters = this.#parameters();
    const bases: TypeNode[] = [];
    if (this.#take("extends"))
      do bases.push(this.#primary());
      while (this.#take(","));
    return { name, parameters, extends: bases, type: this.#object(), doc };
  }

  #alias(doc: string | null): Declaration {
    const name = this.#word();
    const parameters = this.#parameters();
    this.#expect("=");
    const type = this.#type();
    this.#expect(";");
    return { name, parameters, extends: [], type, doc };
  }

  #parameters(): string[] {
    const names: string[] = [];
    if (!this.#take("<")) return names;
    do names.push(this.#word());
    while (this.#take(","));
    this.#expect(">");
    return names;
  }

  #type(): TypeNode {
    this.#take("|");
    const any = [this.#postfix()];
    while (this.#take("|")) any.push(this.#postfix());
    return any.length === 1 ? any[0]! : { kind: "union", any };
  }

  #postfix(): TypeNode {
    let type = this.#primary();
    while (this.#take("[")) {
      if (this.#take("]")) type = { kind: "array", item: type };
      else {
        type = { kind: "member", of: type, name: this.#next().text };
        this.#expect("]");
      }
    }
    return type;
  }

  #primary(): TypeNode {
    if (this.#is("{")) return this.#object();
    if (this.#take("(")) {
      const type = this.#type();
      this.#expect(")");
      return type;
    }
    const { kind, text } = this.#next();
    if (kind === "string") return { kind: "literal", value: text };
    if (kind === "number") return { kind: "literal", value: Number(text) };
    if (kind !== "word") throw new Error(`The contract has ${JSON.stringify(text)} in place of a type.`);
    if (text === "null") return { kind: "literal", value: null };
    const args: TypeNode[] = [];
    if (this.#take("<")) {
      do args.push(this.#type());
      while (this.#take(","));
      this.#expect(">");
    }
    return { kind: "name", name: text, args };
  }

  #object(): TypeNode {
    this.#expect("{");
    const members: Member[] = [];
    for (;;) {
      const doc = this.#doc();
      if (this.#take("}")) return { kind: "object", members };
      const name = this.#next().text;
      const optional = this.#take("?");
      this.#expect(":");
      members.push({ name, optional, type: this.#type(), doc });
      if (!this.#take(";")) this.#take(",");
    }
  }

  #doc(): string | null {
    let doc: string | null = null;
    while (this.#tokens[this.#at]?.kind === "doc") doc = this.#tokens[this.#at++]!.text;
    return doc;
  }

  #skipStatement(): void {
    for (let depth = 0; this.#at < this.#tokens.length; ) {
      const { text, kind } = this.#next();
      if (kind === "string" || kind === "doc") continue;
      if (text === "{") depth++;
      else if (text === "}") depth--;
      if (depth === 0 && (text === ";" || (text === "}" && !this.#is("from") && !this.#is(";")))) return;
    }
  }

  #next(): Token {
    const token = this.#tokens[this.#at++];
    if (!token) throw new Error("The contract ends in the middle of a declaration.");
    return token;
  }

  #is(text: string): boolean {
    const token = this.#tokens[this.#at];
    return token !== undefined && token.kind !== "string" && token.text === text;
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #word(): string {
    const { kind, text } = this.#next();
    if (kind !== "word") throw new Error(`The contract has ${JSON.stringify(text)} in place of a name.`);
    return text;
  }

  #expect(text: string): void {
    const found = this.#next();
    if (found.text !== text)
      throw new Error(`The contract has ${JSON.stringify(found.text)}, expected ${text}.`);
  }
}
