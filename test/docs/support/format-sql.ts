// Breaks a statement over lines. Only white space changes, and only where the text already has some or beside a
// bracket.

const WIDTH = 110;

/** A word, a literal or a comma; or what is between two brackets. */
type Node = { text: string; spaced: boolean } | { nodes: Node[]; spaced: boolean };

const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|[(),;]|[^\s(),;'"`]+/g;

/** Words that begin a clause, and the words before which they do not. */
const CLAUSES: Record<string, { unlessAfter?: string[]; onlyBefore?: string }> = {
  select: {},
  from: { unlessAfter: ["delete", "r"] },
  using: {},
  where: {},
  set: { unlessAfter: [";", "character", "update"] },
  values: {},
  returning: {},
  limit: {},
  union: {},
  group: {},
  order: {},
  for: { unlessAfter: ["as"] },
  on: { onlyBefore: "conflict" },
  join: { unlessAfter: ["cross"] },
  cross: {},
  straight_join: {},
  insert: {},
};

const CONDITIONS = ["and", "or"];

export function formatSql(text: string): string {
  return lay(parse(text), 0);
}

function parse(text: string): Node[] {
  const top: Node[] = [];
  const open: Node[][] = [top];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [token] = match;
    const spaced = match.index > end;
    end = match.index + token.length;
    if (token === "(") {
      const nodes: Node[] = [];
      open.at(-1)!.push({ nodes, spaced });
      open.push(nodes);
    } else if (token === ")") open.pop();
    else open.at(-1)!.push({ text: token, spaced });
  }
  return top;
}

function lay(nodes: Node[], indent: number): string {
  const flat = flatten(nodes);
  if (indent + flat.length <= WIDTH) return flat;
  const newline = `\n${" ".repeat(indent)}`;
  const clauses = split(nodes, beginsClause);
  if (clauses.length > 1) return clauses.map((clause) => lay(clause, indent)).join(newline);
  const items = split(nodes, (at) => at > 0 && textOf(nodes[at - 1]) === ",");
  if (items.length > 1) return fill(items, indent + 2);
  const conditions = split(nodes, (at) => CONDITIONS.includes(textOf(nodes[at]) ?? ""));
  if (conditions.length > 1) {
    return conditions.map((one) => lay(one, indent + 2)).join(`${newline}  `);
  }
  return nodes
    .map((node, index) => {
      const space = node.spaced && index > 0 ? " " : "";
      if ("text" in node) return space + node.text;
      const inside = lay(node.nodes, indent + 2);
      if (!inside.includes("\n") && indent + inside.length <= WIDTH) return `${space}(${inside})`;
      return `${space}(${newline}  ${inside}${newline})`;
    })
    .join("");
}

/** Puts as many items on a line as fit; an item that does not fit has lines of its own. */
function fill(items: Node[][], indent: number): string {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    const flat = flatten(item);
    const joined = last === undefined ? null : `${last} ${flat}`;
    if (joined !== null && !last!.includes("\n") && indent + joined.length <= WIDTH)
      lines[lines.length - 1] = joined;
    else lines.push(lay(item, indent));
  }
  return lines.join(`\n${" ".repeat(indent)}`);
}

function flatten(nodes: Node[]): string {
  return nodes
    .map((node, index) => {
      const space = node.spaced && index > 0 ? " " : "";
      return space + ("text" in node ? node.text : `(${flatten(node.nodes)})`);
    })
    .join("");
}

function split(nodes: Node[], isStart: (index: number, nodes: Node[]) => boolean): Node[][] {
  const parts: Node[][] = [];
  for (const [index, node] of nodes.entries()) {
    if (index === 0 || isStart(index, nodes)) parts.push([]);
    parts.at(-1)!.push(node);
  }
  return parts;
}

function beginsClause(index: number, nodes: Node[]): boolean {
  const clause = CLAUSES[textOf(nodes[index]) ?? ""];
  if (!clause) return false;
  const { unlessAfter = [], onlyBefore } = clause;
  if (onlyBefore !== undefined && textOf(nodes[index + 1]) !== onlyBefore) return false;
  return !unlessAfter.includes(textOf(nodes[index - 1]) ?? "");
}

function textOf(node: Node | undefined): string | null {
  return node && "text" in node ? node.text : null;
}
