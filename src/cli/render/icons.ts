/** The signs of the command line's output. */
export interface Icons {
  ok: string;
  failed: string;
  warning: string;
  idle: string;
  running: string;
  waiting: string;
  paused: string;
  late: string;
  unknown: string;
  skipped: string;
  cancelled: string;
  /** Printed for an empty value. */
  none: string;
  ellipsis: string;
  arrow: string;
  dot: string;
  times: string;
  updown: string;
  line: string;
  full: string;
  empty: string;
}

const signs: Icons = {
  ok: "✓",
  failed: "✕",
  warning: "▲",
  idle: "●",
  running: "◐",
  waiting: "○",
  paused: "⏸",
  late: "!",
  unknown: "?",
  skipped: "»",
  cancelled: "⊘",
  none: "–",
  ellipsis: "…",
  arrow: "→",
  dot: "·",
  times: "×",
  updown: "↑↓",
  line: "─",
  full: "▇",
  empty: "░",
};

const letters: Icons = {
  ok: "[ok]",
  failed: "[!!]",
  warning: "[! ]",
  idle: "[  ]",
  running: "[>>]",
  waiting: "[..]",
  paused: "[||]",
  late: "[! ]",
  unknown: "[??]",
  skipped: "[--]",
  cancelled: "[xx]",
  none: "-",
  ellipsis: "...",
  arrow: "->",
  dot: "|",
  times: "x",
  updown: "up/down",
  line: "-",
  full: "#",
  empty: ".",
};

/** Returns Unicode signs if the terminal can display them, ASCII otherwise. */
export function iconsFor(
  env: Record<string, string | undefined> = process.env,
  platform: string = process.platform,
): Icons {
  return supportsUnicode(env, platform) ? signs : letters;
}

function supportsUnicode(env: Record<string, string | undefined>, platform: string): boolean {
  if (env.TERM === "dumb") return false;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  if (platform === "win32") return locale === "" || /utf-?8/i.test(locale);
  return /utf-?8/i.test(locale);
}
