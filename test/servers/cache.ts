import { homedir } from "node:os";
import { join } from "node:path";

/** Files that take long to make and that every checkout can use. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "punctual");
}
