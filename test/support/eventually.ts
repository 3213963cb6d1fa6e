/** Far more than anything here takes, and less than the rarest round of a worker: only a failure waits this long. */
const DEADLINE = 25_000;

/** Polls until there is a value. */
export async function eventually<Found>(
  what: string | (() => string),
  look: () => Found | undefined | null | false | Promise<Found | undefined | null | false>,
  within: number = DEADLINE,
): Promise<Found> {
  const deadline = performance.now() + within;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > deadline) {
      throw new Error(`waited ${within / 1000} s for ${typeof what === "string" ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
