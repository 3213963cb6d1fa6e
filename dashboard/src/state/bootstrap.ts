import type { Meta, Overview } from "../../../src/dashboard/api/contract.ts";

/** What the server writes into `<script type="application/json" id="bootstrap">`. */
export interface Bootstrap extends Meta {
  /** Mount path as the browser sees it, such as `/admin/jobs/`; without it, the folder above the script counts. */
  base?: string;
  /** Data for the first paint of the overview. */
  overview?: Overview;
}

function read(): Bootstrap | null {
  const text = document.getElementById("bootstrap")?.textContent?.trim();
  return text ? (JSON.parse(text) as Bootstrap) : null;
}

export const bootstrap: Bootstrap | null = read();

/** Path below which pages and API live, with a slash at both ends. */
export const base: string = withSlash(bootstrap?.base ?? folderOfScript());

/** The script is `<base>assets/name.js` when built. The development server serves the page at `/`. */
function folderOfScript(): string {
  return import.meta.env.DEV ? "/" : new URL(/* @vite-ignore */ "..", import.meta.url).pathname;
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
