/** Returns the position of the lowest set bit, or -1. */
export function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

/** Returns the position of the highest set bit, or -1. */
export function highest(bits: number): number {
  return 31 - Math.clz32(bits);
}

/** A mask of bits 0-59, for seconds and minutes. In two numbers, because bitwise operators have 32 bits. */
export interface Sixty {
  low: number;
  high: number;
}

export function has(mask: Sixty, bit: number): boolean {
  return (((bit < 32 ? mask.low : mask.high) >>> (bit & 31)) & 1) === 1;
}

export function add(mask: Sixty, bit: number): void {
  if (bit < 32) mask.low |= 1 << bit;
  else mask.high |= 1 << (bit & 31);
}

/** Returns the lowest set bit at or above `bit`, or -1. */
export function firstFrom(mask: Sixty, bit: number): number {
  if (bit < 32) {
    const low = mask.low & (-1 << bit);
    if (low !== 0) return lowest(low);
    return mask.high === 0 ? -1 : 32 + lowest(mask.high);
  }
  const high = mask.high & (-1 << (bit & 31));
  return high === 0 ? -1 : 32 + lowest(high);
}

/** Returns the highest set bit at or below `bit`, or -1. */
export function lastUpTo(mask: Sixty, bit: number): number {
  if (bit >= 32) {
    const high = mask.high & (-1 >>> (63 - bit));
    if (high !== 0) return 32 + highest(high);
    return highest(mask.low);
  }
  return bit < 0 ? -1 : highest(mask.low & (-1 >>> (31 - bit)));
}
