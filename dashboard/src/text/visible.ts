/**
 * Characters that a terminal or a browser acts on instead of showing them: controls except tab and line feed, and
 * invisible ones such as bidirectional overrides. Joiners stay, because emoji and some scripts need them.
 */
const INVISIBLE = /(?![\t\n\u200c\u200d])[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** Returns the text with invisible characters written as escapes; line breaks and tabs stay. */
export function visibleText(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
