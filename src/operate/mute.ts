import { formatValue, PunctualError } from "../errors.ts";
import type { NewMute } from "../store/records.ts";
import { type Duration, toMilliseconds } from "../time.ts";
import { checkKeys } from "../validate/options.ts";
import { type PauseOptions, toPauseNote } from "./pause.ts";

/** Options of a mute. */
export interface MuteOptions extends PauseOptions {
  /** The mute ends by itself after this duration. Default: it lasts until `unmute()`. */
  for?: Duration | undefined;
}

/** Returns the fingerprint of a group of failures. Throws if it cannot be one. */
export function checkFingerprint(fingerprint: unknown, method: string): string {
  if (typeof fingerprint === "string" && /^[\w-]{1,64}$/.test(fingerprint)) return fingerprint;
  throw new PunctualError(
    "INVALID_OPTION",
    `${method}() expected the fingerprint of a group of failures, such as "1f0c5a7e9b3d2c48", got ${formatValue(fingerprint)}. failures() lists them.`,
  );
}

export function toMute(fingerprint: string, options: MuteOptions, now: number): NewMute {
  checkKeys(options, { for: true, reason: true, by: true }, "mute()");
  const until = options.for === undefined ? null : now + toMilliseconds(options.for, "mute for");
  return { fingerprint: checkFingerprint(fingerprint, "mute"), until, ...toPauseNote(options, "mute") };
}
