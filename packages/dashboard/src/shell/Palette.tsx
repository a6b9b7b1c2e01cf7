/** The palette: a list of pages, types, tenants and actions, narrowed by typing. A pasted id opens the job. */
import { useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useMay, useSignOut } from "../api/session.ts";
import { useKnownTypes } from "../api/types.ts";
import { isId } from "../lib/filter.ts";
import { zones } from "../lib/time.ts";
import { toggleLive } from "../state/live.ts";
import { chooseTenant, navigate } from "../state/route.ts";
import { theme, themes, zone } from "../state/settings.ts";
import { Icon, type IconName } from "../ui/Icon.tsx";
import { commandOf } from "./commands.ts";
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
  const { entries, types, isLoading } = useEntries();
  const [isPressed, setPressed] = useState(false);
  const maySteer = useMay()("set_gate");
  // Before the next key: what is typed at once belongs into the dialog, and is no shortcut of the page.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const client = useQueryClient();
  const matching = (text: string): readonly Entry[] => {
    const command = maySteer ? commandOf(text) : undefined;
    // Only a type that exists: a misspelled one would be paused, and nothing would stop.
    if (command === undefined || !(command.what === "all" || types.has(command.what)))
      return entriesFor(entries, text);
    const run = (): void => void command.run().then(() => client.invalidateQueries());
    return [{ id: "command", icon: "run", name: command.name, kind: "Action", run }];
  };
  const found = useMemo(() => matching(typed), [entries, typed]);
  const chosen = found[Math.min(active, found.length - 1)];
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  // Who types and presses Enter before the types and tenants are there means what is found when they are.
  useEffect(() => {
    if (isPressed && !isLoading) {
      setPressed(false);
      run(found[0]);
    }
  }, [isPressed, isLoading]);
  const move = (event: JSX.TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const next = (Math.min(active, found.length - 1) + step + found.length) % Math.max(1, found.length);
      setActive(next);
      document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      // Who types and presses Enter at once means what the field says, also if the list is not drawn yet.
      const text = event.currentTarget.value;
      const entry = text === typed ? chosen : matching(text)[0];
      if (entry === undefined && isLoading) setPressed(true);
      else run(entry);
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
          placeholder={
            maySteer
              ? "Page, type, tenant, id of a job, or: pause TYPE 30m REASON"
              : "Page, tenant, or id of a job"
          }
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value);
            setActive(0);
            setPressed(false);
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
      {found.length === 0 && (
        <p class={css["none"]}>{isLoading ? "Loading types and tenants …" : `Nothing matches “${typed}”.`}</p>
      )}
    </dialog>
  );
}

function entriesFor(entries: readonly Entry[], typed: string): readonly Entry[] {
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

interface Entries {
  readonly entries: readonly Entry[];
  readonly types: ReadonlySet<string>;
  /** Types or tenants are not there yet. */
  readonly isLoading: boolean;
}

function useEntries(): Entries {
  const may = useMay();
  const signOut = useSignOut();
  const { data: tenants, isLoading: tenantsLoad } = useTenants();
  const { data: found, isLoading: typesLoad } = useKnownTypes();
  const isLoading = tenantsLoad || typesLoad;
  const go =
    (path: string, params = {}) =>
    () =>
      navigate(path, params);
  const entries: readonly Entry[] = [
    ...pagesFor(may).map(
      ({ path, name, icon }): Entry => ({ id: path, icon, name, kind: "Page", run: go(path) }),
    ),
    ...(found?.items ?? []).map(
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
  return { entries, types: new Set((found?.items ?? []).map(({ type }) => type)), isLoading };
}
