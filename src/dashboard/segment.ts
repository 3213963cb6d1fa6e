/** `.` and `..` behind any number of `~`. */
const DOTS = /^~*\.{1,2}$/;

/**
 * Returns a name as one segment of a path. Browsers and proxies remove the segments `.` and `..`, also when they are
 * percent-encoded, so these two names get a `~` before them; and so do names that would then look like them.
 */
export function toSegment(name: string): string {
  return encodeURIComponent(DOTS.test(name) ? `~${name}` : name);
}

/** Returns the name in a segment. Throws a URIError for a wrong percent-encoding. */
export function fromSegment(segment: string): string {
  const name = decodeURIComponent(segment);
  return name.startsWith("~") && DOTS.test(name) ? name.slice(1) : name;
}
