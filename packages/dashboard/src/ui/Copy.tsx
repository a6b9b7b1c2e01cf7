/** Copies text. The clipboard of browsers needs https; on plain http an older way is used. */
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { Commands } from "../lib/commands.ts";
import { Button } from "./Button.tsx";
import css from "./Copy.module.css";
import { say } from "./Toasts.tsx";

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  say(`Copied ${what}`);
}

function copyBySelection(text: string): void {
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.className = "visually-hidden";
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export function CopyButton({ text, what }: { text: string; what: string }): JSX.Element {
  return (
    <Button
      kind="quiet"
      icon="copy"
      label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={() => void copy(text, what)}
    />
  );
}

const names = { cli: "CLI", curl: "curl", sql: "SQL" } as const;

/** A menu that copies what the page shows, or does, as a command. */
export function CopyAs({
  commands,
  more = [],
}: {
  commands: Commands;
  more?: readonly (readonly [string, () => void])[];
}): JSX.Element {
  const id = `menu-${useId()}`;
  const close = (): void => document.getElementById(id)?.hidePopover();
  return (
    <span class={css["menu"]}>
      <Button icon="copy" popovertarget={id}>
        Copy as
      </Button>
      <div id={id} popover="auto" class={css["sheet"]}>
        {(["cli", "curl", "sql"] as const).map((name) => {
          const text = commands[name];
          if (text === undefined) return null;
          return (
            <button
              key={name}
              type="button"
              onClick={() => {
                close();
                void copy(text, `as ${names[name]}`);
              }}
            >
              <b>{names[name]}</b>
              <code>{text}</code>
            </button>
          );
        })}
        {more.map(([label, run]) => (
          <button
            key={label}
            type="button"
            onClick={() => {
              close();
              run();
            }}
          >
            <b>{label}</b>
          </button>
        ))}
      </div>
    </span>
  );
}
