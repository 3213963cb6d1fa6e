/**
 * For what a test needs to have happened before it can show anything, and that the machine's speed decides.
 * A test that says so is set up once more (`retry` in vitest.config.ts); one that fails otherwise never is.
 */
export function cameAbout(what: string, happened: boolean): void {
  if (!happened) throw new Error(`the scene did not come about: ${what}`);
}
