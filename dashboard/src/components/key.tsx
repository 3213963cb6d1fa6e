/** The name of a key, beside the text of a button that it triggers. Screen readers get `aria-keyshortcuts` instead. */
export function Key({ name }: { name: string }) {
  return (
    <span class="key" aria-hidden="true">
      {name}
    </span>
  );
}
