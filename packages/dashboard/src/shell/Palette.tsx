/** The palette: a list of pages, types, tenants and actions, narrowed by typing. A pasted id opens the job. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { api, bodyOf } from "../api/client.ts";
import { useMay, useSignOut } from "../api/session.ts";
import { isId } from "../lib/filter.ts";
import { zones } from "../lib/time.ts";
import { toggleLive } from "../state/live.ts";
import { chooseTenant, navigate } from "../state/route.ts";
import { theme, themes, zone } from "../state/settings.ts";
import { Icon, type IconName } from "../ui/Icon.tsx";
import css from "./Palette.module.css";
import { pagesFor } from "./pages.ts";
import { tenantName, useTenants } from "./TenantSwitch.tsx";

interface Entry {
  readonly id: string;
  readonly icon: IconName;
  readonly name: string;
  readonly kind: string;
  readonly run: () => void;
}

const mostShown = 40;

export function Palette({ onClose }: { onClose: () => void }): JSX.Element {
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const entries = useEntries();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const found = useMemo(() => matching(entries, typed), [entries, typed]);
  const chosen = found[Math.min(active, found.length - 1)];
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const next = (Math.min(active, found.length - 1) + step + found.length) % Math.max(1, found.length);
      setActive(next);
      document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(chosen);
    }
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog, too.
    <dialog
      ref={dialog}
      class={css["palette"]}
      aria-label="Go to"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class={css["field"]}>
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search pages, jobs, types, tenants and actions"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={chosen === undefined ? undefined : `${list}-${found.indexOf(chosen)}`}
          placeholder="Page, type, tenant, action, or the id of a job"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setActive(0);
          }}
          onKeyDown={move}
        />
      </div>
      <div id={list} role="listbox" aria-label="Results" class={css["list"]}>
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the field, as the ARIA pattern asks.
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option.
          <div
            key={entry.id}
            id={`${list}-${index}`}
            role="option"
            aria-selected={entry === chosen}
            class={css["entry"]}
            onClick={() => run(entry)}
            onMouseMove={() => setActive(index)}
          >
            <Icon name={entry.icon} />
            <span>{entry.name}</span>
            <em>{entry.kind}</em>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class={css["none"]}>Nothing matches “{typed}”.</p>}
    </dialog>
  );
}

function matching(entries: readonly Entry[], typed: string): readonly Entry[] {
  const text = typed.trim().toLowerCase();
  if (isId(text)) {
    const run = (): void => navigate(`/jobs/${text}`);
    return [{ id: "job", icon: "jobs", name: `Open the job ${text}`, kind: "Job", run }];
  }
  const words = text.split(/\s+/).filter(Boolean);
  const matches = ({ name, kind }: Entry): boolean =>
    words.every((word) => `${name} ${kind}`.toLowerCase().includes(word));
  return entries.filter(matches).slice(0, mostShown);
}

function useEntries(): readonly Entry[] {
  const may = useMay();
  const signOut = useSignOut();
  const { data: tenants } = useTenants();
  const { data: types } = useQuery({
    queryKey: ["types", "1 hour"],
    queryFn: () => bodyOf(api.GET("/v1/types")),
    enabled: may("list_types"),
    staleTime: 30_000,
  });
  const go =
    (path: string, params = {}) =>
    () =>
      navigate(path, params);
  return [
    ...pagesFor(may).map(
      ({ path, name, icon }): Entry => ({ id: path, icon, name, kind: "Page", run: go(path) }),
    ),
    ...(types?.items ?? []).map(
      ({ type }): Entry => ({
        id: `j-${type}`,
        icon: "jobs",
        name: `Jobs of ${type}`,
        kind: "Jobs",
        run: go("/jobs", { type }),
      }),
    ),
    ...(tenants?.items ?? []).map(
      (tenant): Entry => ({
        id: tenant.tenant_id,
        icon: "tenants",
        name: `Show only ${tenantName(tenant)}`,
        kind: "Tenant",
        run: () => chooseTenant(tenant.tenant_id),
      }),
    ),
    {
      id: "all",
      icon: "tenants",
      name: "Show all tenants",
      kind: "Tenant",
      run: () => chooseTenant(undefined),
    },
    ...themes.map(
      (each): Entry => ({
        id: `theme-${each}`,
        icon: "moon",
        name: `Theme: ${each}`,
        kind: "Setting",
        run: () => {
          theme.value = each;
        },
      }),
    ),
    ...zones.map(
      (each): Entry => ({
        id: `zone-${each}`,
        icon: "schedules",
        name: `Times: ${each}`,
        kind: "Setting",
        run: () => {
          zone.value = each;
        },
      }),
    ),
    { id: "live", icon: "pause", name: "Pause or resume live updates", kind: "Action", run: toggleLive },
    { id: "out", icon: "out", name: "Sign out", kind: "Action", run: () => void signOut() },
  ];
}
