/** Result of one check of `doctor`. */
export interface Finding {
  level: "ok" | "warning" | "error";
  text: string;
  /** The fix: a command, a statement or a sentence. */
  cure?: string;
  /** The action of `--fix`. */
  fix?: string;
  /** The exit code of an error. Default: unhealthy. */
  exit?: number;
  /** Lines printed with -v. */
  details?: string[];
}

export const ok = (text: string, details: string[] = []): Finding => ({ level: "ok", text, details });

export const warning = (text: string, cure?: string): Finding => ({
  level: "warning",
  text,
  ...(cure !== undefined && { cure }),
});

export const error = (text: string, cure?: string, exit?: number): Finding => ({
  level: "error",
  text,
  ...(cure !== undefined && { cure }),
  ...(exit !== undefined && { exit }),
});

export const fixable = (finding: Finding, fix: string): Finding => ({ ...finding, fix });
