/** Returns the most starts in any window of this length: from each start on, up to but without its end. */
export function mostInWindow(starts: readonly number[], per: number): number {
  const sorted = [...starts].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [last, at] of sorted.entries()) {
    while (at - sorted[first]! >= per) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
