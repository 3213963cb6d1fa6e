/**
 * For a scene that a test needs and that depends on the machine's speed. If it did not come about, the test is repeated
 * (`retry` in vitest.config.ts); a test that fails for another reason is not.
 */
export function cameAbout(what: string, happened: boolean): void {
  if (!happened) throw new Error(`the scene did not come about: ${what}`);
}
