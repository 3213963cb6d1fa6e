import { render } from "preact";
import { App } from "./app.tsx";
import { startLive } from "./live/live.ts";
import { loadMeta } from "./state/meta.ts";
import { applySettings } from "./state/settings.ts";
import "./styles/theme.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/controls.css";
import "./styles/table.css";
import "./styles/charts.css";
import "./styles/pages.css";
import "./styles/runs.css";
import "./styles/details.css";
import "./styles/batches.css";

// The server counts reloads there that were needed to get this script.
try {
  sessionStorage.removeItem("punctual.reloads");
} catch {
  // Storage is disabled.
}
applySettings();
render(<App />, document.getElementById("app")!);
startLive();
loadMeta();
