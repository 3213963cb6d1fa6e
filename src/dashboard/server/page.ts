import type { Bootstrap } from "../api/contract/values.ts";
import type { MountPath } from "./mount.ts";

/**
 * Returns the relative URL of the mount from a page at `path` below it: `./` from `/runs`, `../` from `/runs/12`, and
 * `./jobs/` from the mount `/admin/jobs` itself. Relative URLs hold behind proxies that add or remove a prefix of which
 * this process does not know.
 */
export function rootOf({ base, path }: MountPath): string {
  if (path === "") return `./${base.split("/").at(-1)}/`;
  const depth = path.split("/").length - 2;
  return depth <= 0 ? "./" : "../".repeat(depth);
}

/** Returns `index.html` with URLs relative to the mount, the title and the data for the first paint. */
export function renderPage(html: string, bootstrap: Bootstrap): string {
  // "<" inside a JSON text would let a name end the element.
  const json = JSON.stringify(bootstrap).replaceAll("<", "\\u003c");
  return html
    .replace(/(\s(?:src|href)=")\.\//g, (_, before: string) => before + bootstrap.root)
    .replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(bootstrap.title)}</title>`)
    .replace(
      /(<script type="application\/json" id="bootstrap">)[^<]*(<\/script>)/,
      (_, begin: string, end: string) => begin + json + end,
    );
}

/** Returns a page that shows a problem to a person: no script, no style, nothing to load. */
export function problemPage(title: string, paragraphs: readonly string[], form = ""): string {
  const body = paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join("");
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${escapeHtml(title)}</title>`;
  return `<!doctype html><html lang="en"><head>${head}</head><body><h1>${escapeHtml(title)}</h1>${body}${form}</body></html>`;
}

/** Returns a page that loads another one at once. */
export function refreshPage(url: string): string {
  const target = escapeHtml(url);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${target}"><title>Punctual</title></head><body><a href="${target}">Open the dashboard</a></body></html>`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/**
 * Stands in for a script of another version: during a deployment one process serves the page, and another one is asked
 * for its script. It loads the page again, a few times, until both come from the same version.
 */
export const RELOAD_SCRIPT: string = `
const key = "punctual.reloads";
const reloads = Number(sessionStorage.getItem(key)) || 0;
if (reloads < 5) {
  sessionStorage.setItem(key, reloads + 1);
  location.reload();
} else {
  sessionStorage.removeItem(key);
  document.body.textContent = "This page and its server are of different versions. Reload it once the deployment has ended.";
}
`;
