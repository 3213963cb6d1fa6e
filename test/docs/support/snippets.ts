import { pages, read } from "./markdown.ts";
import { preludes } from "./preludes.ts";

export interface Snippet {
  page: string;
  line: number;
  /** The name of its prelude. */
  prelude: string | null;
  /** As it is on the page. */
  text: string;
  /** With its prelude. */
  code: string;
}

/** A prelude and what comes after it, as a module. */
export function moduleOf(prelude: string | null, text: string): string {
  return `${preludes[prelude ?? ""] ?? ""}\n${text}\nexport {};\n`;
}

function snippetsOf(page: string): Snippet[] {
  const blocks = read(page).matchAll(/(?:<!-- prelude: (\w+) -->\n)?^```ts\n([\s\S]*?)^```$/gm);
  return [...blocks].map((block) => {
    const [all, name, text = ""] = block;
    if (name !== undefined && !(name in preludes)) throw new Error(`${page} asks for no prelude "${name}".`);
    const before = read(page).slice(0, block.index + all.indexOf(text));
    const prelude = name ?? null;
    return { page, line: before.split("\n").length, prelude, text, code: moduleOf(prelude, text) };
  });
}

/** The blocks of code in the README and the guide. */
export const snippets: Snippet[] = pages
  .filter((page) => page === "README.md" || page.startsWith("docs/guide/"))
  .flatMap(snippetsOf);
