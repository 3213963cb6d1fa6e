export type Yaml = string | null | Yaml[] | { [key: string]: Yaml };

interface Line {
  indent: number;
  text: string;
}

/** Parses the part of YAML that a compose file needs: nested keys, flow lists and maps, anchors. Refuses the rest. */
export function parseYaml(source: string): Yaml {
  const lines: Line[] = source
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, "").trimEnd())
    .filter((line) => line !== "")
    .map((line) => ({ indent: line.search(/\S/), text: line.trim() }));
  const anchors = new Map<string, Yaml>();
  const block = (indent: number): Yaml => {
    const found: Record<string, Yaml> = {};
    while (lines.length > 0 && lines[0]!.indent >= indent) {
      const { indent: own, text } = lines.shift()!;
      const match = /^([\w.-]+):(?: +&(\w+))?(?: +(\S.*))?$/.exec(text);
      if (own !== indent || !match || match[1]! in found)
        throw new Error(`not a key where one is due: ${text}`);
      const [, key, anchor, value] = match;
      const next = lines[0]?.indent ?? 0;
      const read = value !== undefined ? inline(value, anchors) : next > indent ? block(next) : null;
      if (anchor) anchors.set(anchor, read);
      found[key!] = read;
    }
    return found;
  };
  return block(0);
}

function inline(value: string, anchors: ReadonlyMap<string, Yaml>): Yaml {
  if (value.startsWith("*")) {
    const read = anchors.get(value.slice(1));
    if (read === undefined) throw new Error(`no anchor for ${value}`);
    return read;
  }
  if (!/^[[{"]/.test(value)) return value;
  // The rest is JSON, except for words without quotes.
  const quoted = value.replace(
    /"(?:[^"\\]|\\.)*"|[^\s[\]{},:"][^[\]{},:"]*(?::(?=\S)[^[\]{},:"]*)*/g,
    (word) => (word.startsWith('"') ? word : JSON.stringify(word.trim())),
  );
  return JSON.parse(quoted);
}
