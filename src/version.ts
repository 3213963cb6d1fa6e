import { readFileSync } from "node:fs";

/** Of this package; empty where it was bundled into another program. */
export function version(): string {
  try {
    const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return "";
  }
}
