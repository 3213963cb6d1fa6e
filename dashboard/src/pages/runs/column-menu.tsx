import { Button } from "../../components/button.tsx";
import { Menu } from "../../components/menu.tsx";
import { change, settings } from "../../state/settings.ts";
import { CHOICES, chosenColumns, DEFAULT_CHOICE } from "./columns.tsx";

/** Chooses the columns of the list; the choice is a setting of this browser. */
export function ColumnMenu() {
  const chosen = chosenColumns(settings.value.runColumns);
  const toggle = (key: string) => {
    const keys = chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key];
    change({ runColumns: CHOICES.map((column) => column.key).filter((one) => keys.includes(one)) });
  };
  return (
    <Menu label="Choose columns" icon="settings" text="Columns">
      <fieldset class="menu-choices">
        <legend class="visually-hidden">Columns of the list</legend>
        {CHOICES.map(({ key, title }) => (
          <label key={key} class="menu-choice">
            <input type="checkbox" checked={chosen.includes(key)} onChange={() => toggle(key)} />
            {title}
          </label>
        ))}
      </fieldset>
      <Button
        kind="plain"
        class="menu-item"
        disabled={chosen.join() === DEFAULT_CHOICE.join()}
        onClick={() => change({ runColumns: null })}
      >
        Default columns
      </Button>
    </Menu>
  );
}
