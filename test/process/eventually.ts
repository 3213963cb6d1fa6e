/** Far more than anything here takes: only a failure waits this long. */
const DEADLINE = 40_000;

/** Looks until there is something to see. */
export async function eventually<Found>(
  what: string | (() => string),
  look: () => Found | undefined | null | false | Promise<Found | undefined | null | false>,
): Promise<Found> {
  const deadline = performance.now() + DEADLINE;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > deadline) {
      throw new Error(`waited ${DEADLINE / 1000} s for ${typeof what === "string" ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
