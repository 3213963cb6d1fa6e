/** A path for the JSON functions of SQLite and MySQL. */
export interface JsonPath {
  text: string;
  /** The paths of what has to be a list on the way: MySQL takes anything else for a list of itself. */
  lists: string[];
}

/** A number may be a place in a list or a name in an object: both are tried. */
export function jsonPaths(path: string[]): JsonPath[] {
  let paths: JsonPath[] = [{ text: "$", lists: [] }];
  for (const step of path) {
    const named = paths.map(({ text, lists }) => ({ text: `${text}.${JSON.stringify(step)}`, lists }));
    const isPlace = /^\d{1,9}$/.test(step);
    const place = ({ text, lists }: JsonPath) => ({
      text: `${text}[${Number(step)}]`,
      lists: [...lists, text],
    });
    paths = isPlace ? [...paths.map(place), ...named] : named;
  }
  return paths;
}
