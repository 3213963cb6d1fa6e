import { readFileSync } from "node:fs";

/** Returns the version of this package; empty if the package was bundled into another program. */
export function version(): string {
  try {
    const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return "";
  }
}
