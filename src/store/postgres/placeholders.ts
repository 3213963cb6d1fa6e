/** What a `?` may stand in without being a parameter: literals, quoted names, comments, dollar quotes. */
const QUOTED_OR_MARK =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-z_]*)\$[\s\S]*?\$\1\$|\?/gi;

/** Lists of parameters differ in length, so there is no end of texts. */
const MOST_REMEMBERED = 1000;

const remembered = new Map<string, string>();

/** `?` as `$1`, `$2`, …: the shared statements are written with the one, PostgreSQL reads the other. */
export function numbered(text: string): string {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  let count = 0;
  const result = text.replace(QUOTED_OR_MARK, (found) => (found === "?" ? `$${++count}` : found));
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  remembered.set(text, result);
  return result;
}
