import { findProgram, isRoot } from "../../servers/programs.ts";
import { aptInstall } from "../../servers/provision.ts";

/** Returns the path of Chromium or Chrome; undefined: this machine has neither. */
export function findChromium(): string | undefined {
  const given = process.env.PUNCTUAL_TEST_CHROMIUM;
  return (
    given || ["chromium", "chromium-browser", "google-chrome"].map((name) => findProgram(name)).find(Boolean)
  );
}

/** Installs Chromium where it is missing, on Debian and as root. Throws if it cannot be had. */
export function provisionChromium(): void {
  if (findChromium()) return;
  if (isRoot() && findProgram("apt-get")) {
    console.log("Chromium is not here yet; installing it …");
    aptInstall("chromium", "fonts-dejavu-core");
  }
  if (findChromium()) return;
  throw new Error(
    "Chromium was not found: install it (Debian: apt-get install chromium), or set PUNCTUAL_TEST_CHROMIUM to its path.",
  );
}
