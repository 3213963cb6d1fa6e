/** `1,204,000` */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** `950`, `22k`, `1.2M` */
export function rough(count: number): string {
  if (count < 1000) return String(count < 10 ? Math.round(count * 10) / 10 : Math.round(count));
  const [size, unit] = count < 999_500 ? [count / 1000, "k"] : [count / 1_000_000, "M"];
  return `${size < 10 ? Math.round(size * 10) / 10 : Math.round(size)}${unit}`;
}

/** `1 run`, `2 runs`, `3 queries` */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}
