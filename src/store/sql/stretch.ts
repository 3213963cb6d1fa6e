import type { Way } from "./database.ts";

/** Of one name, from after this id up to that one. */
export function stretch(name: string, after: number, upTo: number): Way {
  return { text: "r.name = ? and r.id > ? and r.id <= ?", params: [name, after, upTo], order: ["r.id"] };
}
