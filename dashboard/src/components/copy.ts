/** Copies text. Pages on plain http have no clipboard API: there, a selection is copied. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (isSecureContext && navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // The permission was refused: try the older way.
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.className = "off-screen";
  // Inside an open dialog, elements outside of it cannot be selected.
  const parent = document.querySelector("dialog[open]") ?? document.body;
  const focused = document.activeElement as HTMLElement | null;
  parent.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return copied;
}
