const UNITS = ["B", "kB", "MB", "GB"];

/** Returns a number of bytes with two significant digits below ten: `512 B`, `1.2 kB`, `48 MB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit > 0 && value < 9.95 ? 1 : 0;
  return `${Number(value.toFixed(digits))}\u202f${UNITS[unit]}`;
}
