export function like(column: string): string {
  return `${column} like ? escape '!'`;
}

/** Not a backslash: under some modes it has to be doubled. */
export function pattern(pieces: string[]): string {
  return pieces.map((piece) => piece.replace(/[%_!]/g, "!$&")).join("%");
}
