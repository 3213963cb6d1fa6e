import type { Count } from "../../../src/dashboard/api/contract.ts";

const grouped = new Intl.NumberFormat("en-US");

/** Returns an integer with groups of digits: `1,284`. */
export function formatNumber(value: number): string {
  return grouped.format(value).replaceAll(",", "\u202f");
}

/** Returns a count; one that was not counted to its end has a plus: `10 000+`. */
export function formatCount({ value, capped }: Count): string {
  return `${formatNumber(value)}${capped ? "+" : ""}`;
}

/** Returns a share of one as a percentage with two significant digits at most: `0.4 %`, `12 %`. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return "< 0.1\u202f%";
  return `${percent < 10 ? Number(percent.toFixed(1)) : Math.round(percent)}\u202f%`;
}

/** Returns a number for an axis or a tile: `950`, `1.2k`, `34k`, `5.1M`. */
export function formatCompact(value: number): string {
  if (value < 1_000) return String(Number.isInteger(value) ? value : Number(value.toFixed(1)));
  const [unit, divisor] = value < 999_500 ? ["k", 1_000] : ["M", 1_000_000];
  const scaled = value / Number(divisor);
  return `${scaled < 10 ? Number(scaled.toFixed(1)) : Math.round(scaled)}${unit}`;
}

/** Returns `1 run` or `12 runs`. */
export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
