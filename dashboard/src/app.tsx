import { useSignal } from "@preact/signals";
import { BulkPanel } from "./bulk/bulk-panel.tsx";
import { Notices } from "./components/notices.tsx";
import { Help } from "./keyboard/help.tsx";
import { useKeys } from "./keyboard/keys.ts";
import { Palette } from "./keyboard/palette.tsx";
import { Banners, isStale } from "./layout/banners.tsx";
import { Header } from "./layout/header.tsx";
import { StatusBar } from "./layout/status-bar.tsx";
import { togglePause } from "./live/live.ts";
import { NotFoundPage } from "./pages/not-found-page.tsx";
import { PAGES, ROUTES } from "./pages.tsx";
import { match } from "./router/path.ts";
import { navigate, path } from "./router/router.ts";
import { nextTheme, nextZone } from "./state/settings.ts";

export function App() {
  const open = useSignal<"help" | "palette" | null>(null);
  const close = () => {
    open.value = null;
  };
  const show = (what: "help" | "palette") => {
    open.value = what;
  };
  useKeys(
    {
      "mod+k": () => show("palette"),
      "?": () => show("help"),
      "/": () => navigate("/runs?focus=query"),
      p: togglePause,
      t: nextTheme,
      z: nextZone,
      ...Object.fromEntries(
        PAGES.flatMap(({ key, path: to }) => (key ? [[`g ${key}`, () => navigate(to)]] : [])),
      ),
    },
    { fallback: true },
  );
  return (
    <>
      <Header onSearch={() => show("palette")} onHelp={() => show("help")} />
      <StatusBar />
      <Banners />
      <div class={isStale() ? "content content-stale" : "content"}>
        <CurrentPage />
      </div>
      <BulkPanel />
      <Notices />
      {open.value === "help" && <Help onClose={close} />}
      {open.value === "palette" && <Palette onClose={close} />}
    </>
  );
}

function CurrentPage() {
  for (const { pattern, page: PageComponent } of ROUTES) {
    const params = match(pattern, path.value);
    // The key makes a new component for another run or job: nothing of the page before remains.
    if (params) return <PageComponent key={`${pattern} ${JSON.stringify(params)}`} {...params} />;
  }
  return <NotFoundPage />;
}
