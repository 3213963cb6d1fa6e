import { homedir } from "node:os";
import { join } from "node:path";

/** For what takes long to make and may be used by every checkout. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "punctual");
}
