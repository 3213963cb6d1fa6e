import type { Bootstrap } from "../../../src/dashboard/api/contract.ts";

function read(): Bootstrap | null {
  const text = document.getElementById("bootstrap")?.textContent?.trim();
  return text ? (JSON.parse(text) as Bootstrap) : null;
}

/** Values that the server wrote into the HTML; null with Vite's development server. */
export const bootstrap: Bootstrap | null = read();

/** Path below which pages and API live, with a slash at both ends. Read once: later, the address is another page's. */
export const base: string = new URL(bootstrap?.root ?? "/", location.href).pathname;
