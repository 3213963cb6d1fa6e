import { plain } from "../output/output.ts";

let segmenter: Intl.Segmenter | undefined;

/** Characters of two columns: East Asian wide and fullwidth characters, and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
/** A character that a variation selector, keycap or joiner turns into an emoji. */
const PICTURE = /^\p{Emoji}.*[\ufe0f\u20e3\u200d]/su;
/** Characters of no width: combining marks and control characters. */
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u115f\u1160\u3164]+$/u;
/** Text of one column per character: Latin letters and our own icons. Segmenting a text is a hundred times slower. */
const NARROW = /^[ -~\u00a1-\u00ac\u00ae-\u02af\u2010-\u2027\u2190-\u2193\u23f8\u2500-\u25fc\u2713\u2715]*$/;

/** Splits text into graphemes with their widths in columns. */
function* graphemes(text: string): Generator<{ segment: string; columns: number }> {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield { segment, columns: columnsOf(segment) };
}

function columnsOf(grapheme: string): number {
  if (NOTHING.test(grapheme)) return 0;
  return WIDE.test(grapheme) || PICTURE.test(grapheme) ? 2 : 1;
}

/** Returns the width of a text in columns. The text must not contain control sequences. */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { columns } of graphemes(text)) width += columns;
  return width;
}

/** Cuts a text to at most `width` columns; a cut text ends in an ellipsis. */
export function cut(text: string, width: number, ellipsis = "…"): string {
  if (widthOf(text) <= width) return text;
  const room = width - ellipsis.length;
  if (room < 0) return ellipsis.slice(0, Math.max(0, width));
  let taken = "";
  let used = 0;
  for (const { segment, columns } of graphemes(text)) {
    if (used + columns > room) break;
    taken += segment;
    used += columns;
  }
  return taken.trimEnd() + ellipsis;
}

/** Pads a text with spaces to `width` columns. */
export function pad(text: string, width: number, align: "left" | "right" = "left"): string {
  const spaces = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "right" ? spaces + text : text + spaces;
}

/** Wraps prose at `width` columns, between words; keeps its own line breaks. */
export function wrap(text: string, width: number | null): string[] {
  return text
    .split(/\r?\n/)
    .flatMap((line) => (width === null ? [plain(line)] : wrapLine(plain(line), width)));
}

/** Wraps a sentence at `width` columns; its further lines are indented by two columns. */
export function wrapHanging(text: string, width: number): string[] {
  const [first, ...rest] = wrap(text, width);
  if (rest.length === 0) return [first!];
  return [first!, ...wrap(rest.join(" "), width - 2).map((line) => `  ${line}`)];
}

/** The start of a command at the end of a hint, as in `Start one: punctual work`. */
const COMMAND = /: (?=punctual )/;

/** Wraps a hint at `width` columns. A command at its end stays on one line, so that it can be copied. */
export function wrapHint(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const at = text.search(COMMAND);
  if (at < 0) return wrapHanging(text, width);
  return [...wrapHanging(text.slice(0, at + 1), width), `  ${text.slice(at + 2)}`];
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
