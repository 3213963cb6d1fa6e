/** One value of a family. */
export interface Sample {
  /** Appended to the family's name: `_bucket`, `_sum` or `_count` of a histogram. */
  suffix?: string;
  labels: Record<string, string>;
  value: number;
}

/** A metric with all its samples, in base units: seconds and bytes. */
export interface Family {
  name: string;
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: Sample[];
}

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Returns the metrics in the text format 0.0.4 of Prometheus. A family without samples is left out. */
export function toText(families: Iterable<Family>): string {
  const lines: string[] = [];
  for (const { name, type, help, samples } of families) {
    if (samples.length === 0) continue;
    lines.push(
      `# HELP ${name} ${help.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")}`,
      `# TYPE ${name} ${type}`,
    );
    for (const sample of samples) {
      lines.push(`${name}${sample.suffix ?? ""}${labelsOf(sample.labels)} ${numberOf(sample.value)}`);
    }
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function labelsOf(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Escapes a label value. A job's name may contain any character, also a lone surrogate, which is not valid UTF-8. */
function escaped(value: string): string {
  return value.toWellFormed().replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}

function numberOf(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
