/** The frame of every page: navigation, tenant, live state, zone of times, theme. */
import { useQueryClient } from "@tanstack/preact-query";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { ui, useMay, useMe, useSignOut } from "../api/session.ts";
import { zoneLabels, zones } from "../lib/time.ts";
import { rowKeys } from "../pages/jobs/rows.ts";
import { follow, heardAt, liveState, toggleLive } from "../state/live.ts";
import { isEmbedded, navigate, useTenant } from "../state/route.ts";
import { nextOf, theme, themes, zone } from "../state/settings.ts";
import { Button } from "../ui/Button.tsx";
import { Icon } from "../ui/Icon.tsx";
import { Link } from "../ui/Link.tsx";
import { Time } from "../ui/Time.tsx";
import { Toasts } from "../ui/Toasts.tsx";
import { Help } from "./Help.tsx";
import { listenToKeys, useKeys } from "./keys.ts";
import { Palette } from "./Palette.tsx";
import { pagesFor } from "./pages.ts";
import css from "./Shell.module.css";
import { TenantSwitch } from "./TenantSwitch.tsx";

export function Shell({ path, children }: { path: string; children: ComponentChildren }): JSX.Element {
  const [opened, open] = useState<"palette" | "help" | undefined>();
  const may = useMay();
  const tenant = useTenant();
  const client = useQueryClient();
  useLayoutEffect(listenToKeys, []);
  useEffect(() => follow(client, tenant), [client, tenant]);
  const available = pagesFor(may);
  useKeys({
    ...rowKeys,
    "mod+k": () => open("palette"),
    "?": () => open("help"),
    p: toggleLive,
    t: cycleTheme,
    z: cycleZone,
    ...Object.fromEntries(available.map((page) => [`g ${page.key}`, () => navigate(page.path)])),
  });
  // A page inside another one has the navigation of that page.
  if (isEmbedded(useSearch()))
    return (
      <div class={css["column"]}>
        <LostBar />
        <main id="main" class={css["main"]}>
          {children}
        </main>
        <Toasts />
      </div>
    );
  return (
    <div class={css["shell"]}>
      {/* biome-ignore lint/a11y/useValidAnchor: a skip link moves the focus inside the page. */}
      <a class={css["skip"]} href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Rail path={path} />
      <div class={css["column"]}>
        <TopBar onPalette={() => open("palette")} onHelp={() => open("help")} />
        <LostBar />
        <main id="main" class={css["main"]}>
          {children}
        </main>
      </div>
      <Toasts />
      {opened === "palette" && <Palette onClose={() => open(undefined)} />}
      {opened === "help" && <Help onClose={() => open(undefined)} />}
    </div>
  );
}

/** A link to `#main` would leave the page, because addresses are relative to the base. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main h1")?.focus();
}

function cycleTheme(): void {
  theme.value = nextOf(themes, theme.value);
}

function cycleZone(): void {
  zone.value = nextOf(zones, zone.value);
}

function Rail({ path }: { path: string }): JSX.Element {
  const available = pagesFor(useMay());
  const isCurrent = (page: string): boolean =>
    page === "/" ? path === "/" : path === page || path.startsWith(`${page}/`);
  return (
    <nav class={css["rail"]} aria-label="Pages">
      <Link to="/" class={css["brand"]}>
        <Mark />
        <span>{ui.title}</span>
        {ui.environment !== null && <Environment name={ui.environment} color={ui.color} />}
      </Link>
      {(["work", "steer", "account"] as const).map((group) => (
        <ul key={group}>
          {available
            .filter((page) => page.group === group)
            .map((page) => (
              <li key={page.path} class={page.isMain ? css["isMain"] : css["isMore"]}>
                <Link to={page.path} current={isCurrent(page.path)}>
                  <Icon name={page.icon} />
                  <span>{page.name}</span>
                </Link>
              </li>
            ))}
        </ul>
      ))}
      <MoreMenu path={path} />
      <p class={css["version"]}>JobForge {ui.version}</p>
    </nav>
  );
}

/** On a narrow screen: the pages that have no place in the bar. */
function MoreMenu({ path }: { path: string }): JSX.Element | null {
  const available = pagesFor(useMay()).filter(({ isMain }) => !isMain);
  if (available.length === 0) return null;
  return (
    <div class={css["moreMenu"]}>
      <button type="button" popovertarget="more-pages">
        <Icon name="more" />
        <span>More</span>
      </button>
      <div id="more-pages" popover="auto" class={css["sheet"]}>
        <ul>
          {available.map((page) => (
            <li key={page.path}>
              <Link
                to={page.path}
                current={path.startsWith(page.path)}
                onFollow={() => document.getElementById("more-pages")?.hidePopover()}
              >
                <Icon name={page.icon} />
                <span>{page.name}</span>
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

export function Mark(): JSX.Element {
  return (
    <svg aria-hidden="true" class={css["mark"]} viewBox="0 0 24 24" width="20" height="20">
      <path d="M3.5 5.5h17v4.3a4 4 0 0 1-4 4h-2.1v2.4l3.6 3.8H6.5l3.6-3.8v-2.4H9a5.5 5.5 0 0 1-5.5-5.5z" />
    </svg>
  );
}

/** The server gives the colour as hex. It is a dot next to the word, so any colour is readable. */
function Environment({ name, color }: { name: string; color: string | null }): JSX.Element {
  return (
    <span class={css["environment"]}>
      {color !== null && <i style={{ background: color }} />}
      {name}
    </span>
  );
}

function TopBar({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }): JSX.Element {
  const me = useMe();
  const signOut = useSignOut();
  const isMac = navigator.platform.startsWith("Mac");
  return (
    <header class={css["top"]}>
      <TenantSwitch />
      <button type="button" class={css["find"]} aria-keyshortcuts="Meta+K Control+K" onClick={onPalette}>
        <Icon name="search" />
        <span>Go to a page, a job or an action</span>
        <kbd>{isMac ? "⌘ K" : "Ctrl K"}</kbd>
      </button>
      <div class={css["chips"]}>
        <LiveChip />
        <button type="button" class={css["chip"]} onClick={cycleZone} title="How times are shown (z)">
          <span class="visually-hidden">Times: </span>
          {zoneLabels[zone.value]}
        </button>
        <Button
          kind="quiet"
          icon={theme.value === "light" ? "sun" : theme.value === "dark" ? "moon" : "auto"}
          label={`Theme: ${theme.value}`}
          title={`Theme: ${theme.value} (t)`}
          onClick={cycleTheme}
        />
        <Button kind="quiet" icon="help" label="Keys and help" title="Keys and help (?)" onClick={onHelp} />
        {ui.signs_in && (
          <Button
            kind="quiet"
            icon="out"
            label={`Sign out${me.name === null ? "" : ` ${me.name}`}`}
            title="Sign out"
            onClick={() => void signOut()}
          />
        )}
      </div>
    </header>
  );
}

const liveWords = {
  connecting: "Connecting",
  live: "Live",
  paused: "Paused",
  lost: "Not connected",
} as const;

function LiveChip(): JSX.Element {
  const state = liveState.value;
  return (
    <button
      type="button"
      class={`${css["chip"]} ${css["live"]}`}
      aria-pressed={state === "paused"}
      title={state === "paused" ? "Follow changes again (p)" : "Pause live updates (p)"}
      onClick={toggleLive}
    >
      <i class={css["dot"]} data-state={state} />
      <span role="status">{liveWords[state]}</span>
    </button>
  );
}

/** Says that the data on the page is old, and since when. */
function LostBar(): JSX.Element | null {
  if (liveState.value !== "lost") return null;
  return (
    <p class={css["lost"]} role="status">
      Not connected: the page shows the data as of <Time at={new Date(heardAt.value).toISOString()} />. It
      connects again by itself.
    </p>
  );
}
