import { type JsonContainer, type JsonNode, parseJson } from "./parse.ts";

export function isContainer(node: JsonNode): node is JsonContainer {
  return node.kind === "object" || node.kind === "array";
}

/** Returns a scalar as JSON. */
export function scalarText(node: Exclude<JsonNode, JsonContainer>): string {
  if (node.kind === "number") return node.text;
  return node.kind === "string" ? JSON.stringify(node.value) : node.kind;
}

interface Frame {
  node: JsonContainer;
  next: number;
}

/** Returns the value as JSON with two spaces per level, numbers and keys exactly as they were parsed. */
export function formatJson(root: JsonNode): string {
  const parts: string[] = [];
  const open: Frame[] = [];
  const write = (node: JsonNode) => {
    if (!isContainer(node)) parts.push(scalarText(node));
    else if (node.values.length === 0) parts.push(node.kind === "object" ? "{}" : "[]");
    else {
      parts.push(node.kind === "object" ? "{" : "[");
      open.push({ node, next: 0 });
    }
  };
  write(root);
  while (open.length > 0) {
    const frame = open.at(-1)!;
    const { node, next } = frame;
    if (next === node.values.length) {
      open.pop();
      parts.push(`\n${"  ".repeat(open.length)}${node.kind === "object" ? "}" : "]"}`);
      continue;
    }
    frame.next++;
    parts.push(`${next === 0 ? "" : ","}\n${"  ".repeat(open.length)}`);
    if (node.kind === "object") parts.push(`${JSON.stringify(node.keys[next])}: `);
    write(node.values[next]!);
  }
  return parts.join("");
}

/** Returns JSON text with two spaces per level, or the text itself if it is not JSON. */
export function prettyJson(json: string): string {
  const { node, fault } = parseJson(json);
  return node === null || fault !== null ? json : formatJson(node);
}

const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/;

/** Returns the path of a member, as JavaScript would write it: `order.lines[3]["unit price"]`. */
export function memberPath(path: string, parent: JsonContainer, index: number): string {
  if (parent.kind === "array") return `${path}[${index}]`;
  const key = parent.keys[index]!;
  if (!PLAIN_KEY.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** Returns the first members of a container in one line of about `limit` characters: `{id: 7, to: "a@b.c", …}`. */
export function previewOf(node: JsonNode, limit: number): string {
  if (!isContainer(node)) return cut(scalarText(node), limit);
  const [start, end] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  const parts: string[] = [];
  let length = 2;
  for (const [index, value] of node.values.entries()) {
    const shown = isContainer(value) ? containerMark(value) : cut(scalarText(value), limit / 2);
    const part = node.kind === "object" ? `${cut(node.keys[index]!, limit / 2)}: ${shown}` : shown;
    if (length + part.length > limit) {
      parts.push("…");
      break;
    }
    parts.push(part);
    length += part.length + 2;
  }
  return `${start}${parts.join(", ")}${end}`;
}

function containerMark(node: JsonContainer): string {
  if (node.kind === "array") return node.values.length === 0 ? "[]" : `[${node.values.length}]`;
  return node.values.length === 0 ? "{}" : "{…}";
}

function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, Math.max(1, limit - 1))}…` : text;
}
