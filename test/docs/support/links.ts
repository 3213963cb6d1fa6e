import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const withoutBlocks = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, "");

/** Links and images of a page, without those in code. */
export function linksIn(text: string): string[] {
  const prose = withoutBlocks(text).replace(/`[^`\n]*`/g, "");
  const links = prose.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"\s]+)"/g);
  return [...links].map(([, link, image]) => (link ?? image)!);
}

export function isLocal(link: string): boolean {
  return !/^[a-z]+:/.test(link);
}

/** Anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Whether a local link of a page below `root` has no target there. */
export function isBroken(root: string, page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(root, page) : join(root, dirname(page), path);
  if (relative(root, target).startsWith("..") || !existsSync(target)) return true;
  if (anchor === undefined) return false;
  return !(statSync(target).isFile() && anchorsOf(readFileSync(target, "utf8")).includes(anchor));
}
