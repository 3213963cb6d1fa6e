// Loaded before everything else: wall time of this process is off by SKEW milliseconds.
const skew = Number(process.env.SKEW);
const TrueDate = Date;

class SkewedDate extends TrueDate {
  constructor(...given: [] | [string | number | Date]) {
    if (given.length === 0) super(TrueDate.now() + skew);
    else super(...(given as [number]));
  }

  static override now(): number {
    return TrueDate.now() + skew;
  }
}

globalThis.Date = SkewedDate as DateConstructor;
