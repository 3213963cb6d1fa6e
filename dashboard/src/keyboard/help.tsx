import { Fragment } from "preact";
import { Dialog } from "../components/dialog.tsx";
import { change, settings } from "../state/settings.ts";
import { SHORTCUTS } from "./shortcuts.ts";

/** The list of shortcuts, with the switch for those of one letter. */
export function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keyboard shortcuts" size="wide" onClose={onClose}>
      <div class="help">
        {SHORTCUTS.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([combination, text]) => (
                <Fragment key={combination}>
                  <dt>
                    {combination
                      .split(" ")
                      .map((key) =>
                        key === "/" && combination !== "/" ? " / " : <kbd key={key}>{key}</kbd>,
                      )}
                  </dt>
                  <dd>{text}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label class="check-line">
        <input
          type="checkbox"
          checked={settings.value.singleKeys}
          onChange={({ currentTarget }) => change({ singleKeys: currentTarget.checked })}
        />
        <span>Shortcuts of one letter</span>
      </label>
    </Dialog>
  );
}
