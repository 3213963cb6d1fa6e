const NAMED: Record<string, string> = {
  "\x1b[A": "up",
  "\x1bOA": "up",
  "\x1b[B": "down",
  "\x1bOB": "down",
  "\x1b[5~": "page-up",
  "\x1b[6~": "page-down",
  "\x1b[H": "home",
  "\x1b[1~": "home",
  "\x1bOH": "home",
  "\x1b[F": "end",
  "\x1b[4~": "end",
  "\x1bOF": "end",
  "\r": "enter",
  "\n": "enter",
  "\x1b": "escape",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x03": "ctrl-c",
  "\x1a": "ctrl-z",
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: keys send them
const KEY = /\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|./gsu;

/** Returns the keys in the input of a terminal in raw mode; one chunk may contain several. */
export function keysOf(input: string): string[] {
  return (input.match(KEY) ?? []).map((key) => NAMED[key] ?? key);
}
