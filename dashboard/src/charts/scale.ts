/** Returns round whole numbers from 0 to at least `most`, about `count` of them, for the ticks of an axis. */
export function niceTicks(most: number, count: number): number[] {
  if (!(most > 0)) return [0, 1];
  const raw = most / count;
  const power = Math.max(1, 10 ** Math.floor(Math.log10(raw)));
  const steps = [1, 2, 2.5, 5, 10].map((factor) => factor * power).filter(Number.isInteger);
  const step = steps.find((one) => one >= raw * 0.999)!;
  const ticks: number[] = [];
  for (let tick = 0; ticks.length === 0 || ticks.at(-1)! < most; tick += step) ticks.push(tick);
  return ticks;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 6, 12, 24].map((n) => n * HOUR),
];

/** Returns round durations from 0 to at least `most` milliseconds: of a minute, steps of 15 seconds, not of 20. */
export function durationTicks(most: number, count: number): number[] {
  if (!(most > 0)) return [0, 1];
  const step = STEPS.find((candidate) => candidate * count >= most) ?? Math.ceil(most / count / HOUR) * HOUR;
  const ticks: number[] = [];
  for (let tick = 0; ticks.length === 0 || ticks.at(-1)! < most; tick += step) ticks.push(tick);
  return ticks;
}

/** Returns a function that maps 0…`domain` to `from`…`to`, such as values to pixels. */
export function linear(domain: number, from: number, to: number): (value: number) => number {
  return (value) => from + (domain === 0 ? 0 : value / domain) * (to - from);
}

/** Returns the path of a line through points; a null begins a new piece. */
export function linePath(points: readonly (readonly [x: number, y: number] | null)[]): string {
  let path = "";
  let drawing = false;
  for (const point of points) {
    if (point === null) {
      drawing = false;
      continue;
    }
    path += `${drawing ? "L" : "M"}${round(point[0])} ${round(point[1])}`;
    drawing = true;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
