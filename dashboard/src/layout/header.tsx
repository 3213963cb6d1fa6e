import { Button } from "../components/button.tsx";
import { useCurrentInView } from "../components/current-in-view.ts";
import type { IconName } from "../components/icon.tsx";
import { Icon } from "../components/icon.tsx";
import { Key } from "../components/key.tsx";
import { overview } from "../live/live.ts";
import { PAGES } from "../pages.tsx";
import { Link } from "../router/link.tsx";
import { path } from "../router/router.ts";
import { identity } from "../state/meta.ts";
import { nextTheme, settings, type Theme } from "../state/settings.ts";

const THEME_ICONS: Record<Theme, IconName> = { system: "system", light: "light", dark: "dark" };

interface HeaderProps {
  onSearch(): void;
  onHelp(): void;
}

/** The top of every page: name, environment, navigation, search, theme and help. */
export function Header({ onSearch, onHelp }: HeaderProps) {
  const { theme } = settings.value;
  const { title, environment } = identity();
  return (
    <header class="header">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Link to="/" class="brand">
        <Logo />
        <span>{title}</span>
      </Link>
      {environment && <EnvironmentBadge name={environment} />}
      <nav class="nav" aria-label="Pages">
        {PAGES.filter(({ nav }) => nav).map((page) => (
          <NavLink key={page.path} to={page.path} title={page.title} />
        ))}
      </nav>
      <div class="header-tools">
        <button type="button" class="search-button" onClick={onSearch}>
          <Icon name="search" />
          <span>Search</span>
          <Key name={isMac() ? "⌘K" : "Ctrl K"} />
        </button>
        <Button
          kind="plain"
          icon={THEME_ICONS[theme]}
          label={`Theme: ${theme}`}
          shortcut="t"
          onClick={nextTheme}
        />
        <Link class="button button-plain button-icon" to="/settings" aria-label="Settings" title="Settings">
          <Icon name="settings" />
        </Link>
        <Button kind="plain" icon="help" label="Keyboard shortcuts" shortcut="?" onClick={onHelp} />
      </div>
    </header>
  );
}

function NavLink({ to, title }: { to: string; title: string }) {
  const current = isCurrent(to);
  const place = useCurrentInView<HTMLSpanElement>(current, overview.value !== null);
  return (
    <Link to={to} class="nav-link" aria-current={current ? "page" : undefined}>
      <span ref={place}>{title}</span>
      <NavBadge page={to} />
    </Link>
  );
}

function isCurrent(page: string): boolean {
  return page === "/" ? path.value === "/" : path.value === page || path.value.startsWith(`${page}/`);
}

function isMac(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}

function EnvironmentBadge({ name }: { name: string }) {
  const production = /^prod/i.test(name);
  return <span class={production ? "environment environment-production" : "environment"}>{name}</span>;
}

/** The number of problems behind a page of the navigation. */
function NavBadge({ page }: { page: string }) {
  const tiles = overview.value?.tiles;
  if (!tiles) return null;
  const [count, text] =
    page === "/jobs"
      ? [tiles.failed.jobs, "failing"]
      : page === "/schedules"
        ? [tiles.schedules.late, "late"]
        : page === "/workers"
          ? [tiles.workers.silent, "silent"]
          : [0, ""];
  if (count === 0) return null;
  return (
    <span class="nav-badge" title={`${count} ${text}`}>
      {count}
      <span class="visually-hidden"> {text}</span>
    </span>
  );
}

function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <circle cx="16" cy="16" r="9" />
      <path d="M16 10.5V16l3.8 2.6" />
    </svg>
  );
}
