import { plain } from "../output/output.ts";
import { widthOf } from "./width.ts";

/** Wraps prose at `width` columns, between words; keeps its own line breaks. */
export function wrap(text: string, width: number | null): string[] {
  return text
    .split(/\r?\n/)
    .flatMap((line) => (width === null ? [plain(line)] : wrapLine(plain(line), width)));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    if (current !== "" && widthOf(current) + 1 + widthOf(word) > width) {
      lines.push(current);
      current = word;
    } else current = current === "" ? word : `${current} ${word}`;
  }
  return [...lines, current];
}
