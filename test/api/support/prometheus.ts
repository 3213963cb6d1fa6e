export interface Parsed {
  type: string;
  help: string;
  /** Full names, with the suffixes of histograms. */
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

/** Parses the text format 0.0.4 strictly. */
export function parsePrometheus(text: string): Map<string, Parsed> {
  const families = new Map<string, Parsed>();
  const refuse = (line: string, why: string): never => {
    throw new Error(`${why}: ${JSON.stringify(line)}`);
  };
  if (text !== "" && !text.endsWith("\n")) refuse(text.slice(-40), "the last line has no end");
  const seen = new Set<string>();
  let current: [string, Parsed] | null = null;
  let help: [string, string] | null = null;
  for (const line of text.split("\n").slice(0, -1)) {
    if (line === "") refuse(line, "an empty line");
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line);
    if (comment?.[1] === "HELP") {
      if (/\\(?![\\n])/.test(comment[3]!)) refuse(line, "a wrong escape in the help");
      help = [comment[2]!, comment[3]!];
      continue;
    }
    if (comment) {
      const [, , name, type] = comment;
      if (families.has(name!)) refuse(line, "a family told twice");
      if (help?.[0] !== name) refuse(line, "a type without its help");
      if (!["counter", "gauge", "histogram", "summary", "untyped"].includes(type!))
        refuse(line, "no such type");
      if (type === "counter" && !name!.endsWith("_total")) refuse(line, "a counter not named so");
      current = [name!, { type: type!, help: help![1], samples: [] }];
      families.set(...current);
      continue;
    }
    const { name, labels, value } = sampleOf(line) ?? refuse(line, "no sample");
    const [family, parsed] = current ?? refuse(line, "a sample without its type");
    const suffix = name.slice(family.length);
    const fits = parsed.type === "histogram" ? ["_bucket", "_sum", "_count"].includes(suffix) : suffix === "";
    if (!name.startsWith(family) || !fits) refuse(line, `not of ${family}`);
    const series = `${name}${JSON.stringify(Object.entries(labels).sort())}`;
    if (seen.has(series)) refuse(line, "a series told twice");
    seen.add(series);
    if (parsed.type === "counter" && !(value >= 0)) refuse(line, "a counter below 0");
    parsed.samples.push({ name, labels, value });
  }
  for (const [name, family] of families) if (family.type === "histogram") checkHistogram(name, family);
  return families;
}

function sampleOf(line: string) {
  const match =
    /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$/u.exec(
      line,
    );
  if (!match) return null;
  const labels: Record<string, string> = {};
  for (const [, label, value] of (match[2] ?? "").matchAll(
    /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?/gu,
  )) {
    if (Object.hasOwn(labels, label!)) return null;
    labels[label!] = value!.replace(/\\(.)/g, (_, one: string) => (one === "n" ? "\n" : one));
  }
  const written = match[3]!;
  if (!/^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]Inf|NaN)$/i.test(written)) return null;
  return { name: match[1]!, labels, value: Number(written.replace("Inf", "Infinity")) };
}

function checkHistogram(name: string, { samples }: Parsed): void {
  const bySeries = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [series, of] of bySeries) {
    const buckets = of.filter((sample) => sample.name === `${name}_bucket`);
    const count = of.find((sample) => sample.name === `${name}_count`)?.value;
    const ends = buckets.map(({ labels }) => Number(labels.le!.replace("+Inf", "Infinity")));
    const rising = (list: number[]) => list.every((value, index) => index === 0 || value >= list[index - 1]!);
    if (!rising(ends) || ends.at(-1) !== Number.POSITIVE_INFINITY)
      throw new Error(`${name}${series}: its ends`);
    if (!rising(buckets.map(({ value }) => value))) throw new Error(`${name}${series}: buckets go down`);
    if (buckets.at(-1)!.value !== count) throw new Error(`${name}${series}: +Inf is not the count`);
    if (!of.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name}${series}: no sum`);
  }
}
