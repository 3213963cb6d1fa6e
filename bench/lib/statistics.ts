const sorted = (values: number[]) => [...values].sort((a, b) => a - b);

export function quantile(values: number[], part: number): number {
  const ordered = sorted(values);
  return ordered[Math.min(ordered.length - 1, Math.floor(part * ordered.length))] ?? Number.NaN;
}

export function median(values: number[]): number {
  const ordered = sorted(values);
  const middle = ordered.length >> 1;
  return ordered.length % 2 === 1 ? ordered[middle]! : (ordered[middle - 1]! + ordered[middle]!) / 2;
}

/** Median of the ratios within each round: the machine's drift between rounds cancels out. */
export function ratio(values: number[], base: number[]): number {
  return median(values.map((value, round) => value / base[round]!));
}
