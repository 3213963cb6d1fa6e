/** At most `longest` bytes of UTF-8 that every database takes. `tail` is kept whole, the text before it is cut. */
export function storable(text: string, longest: number, tail = ""): string {
  const end = tail && cut(wellFormed(tail.slice(0, longest)), longest / 2);
  // No character is shorter than a byte: the rest of ten megabytes need not be looked at.
  const start = wellFormed(text.slice(0, longest + 1));
  return cut(start, longest - Buffer.byteLength(end)) + end;
}

function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

function cut(text: string, longest: number): string {
  if (Buffer.byteLength(text) <= longest) return text;
  const mark = "… (cut)";
  const room = new Uint8Array(Math.max(0, Math.floor(longest) - Buffer.byteLength(mark)));
  return text.slice(0, new TextEncoder().encodeInto(text, room).read) + mark;
}
