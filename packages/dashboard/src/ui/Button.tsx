import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import css from "./Button.module.css";
import { Icon, type IconName } from "./Icon.tsx";

interface ButtonProps {
  readonly onClick?: (event: MouseEvent) => void;
  readonly kind?: "plain" | "primary" | "danger" | "quiet";
  readonly icon?: IconName;
  readonly type?: "button" | "submit";
  /** Why the button cannot be used now. It is then disabled, and the reason is read out and shown. */
  readonly blocked?: string | undefined;
  readonly busy?: boolean;
  readonly label?: string;
  readonly title?: string;
  readonly shortcut?: string;
  readonly pressed?: boolean;
  readonly expanded?: boolean;
  readonly popovertarget?: string;
  readonly autofocus?: boolean;
  readonly children?: ComponentChildren;
}

export function Button(props: ButtonProps): JSX.Element {
  const { kind = "plain", icon, type = "button", blocked, busy = false, label, children, shortcut } = props;
  const reason = useId();
  // Disabled by aria only: the button stays reachable by keyboard, so that its reason can be found out.
  const isBlocked = blocked !== undefined || busy;
  return (
    <>
      <button
        type={type}
        class={`${css["button"]} ${css[kind] ?? ""} ${children === undefined ? css["square"] : ""}`}
        aria-label={label}
        aria-disabled={isBlocked || undefined}
        aria-busy={busy || undefined}
        aria-describedby={blocked === undefined ? undefined : reason}
        aria-pressed={props.pressed}
        aria-expanded={props.expanded}
        aria-keyshortcuts={shortcut}
        title={blocked ?? props.title}
        autofocus={props.autofocus}
        {...(props.popovertarget === undefined ? {} : { popovertarget: props.popovertarget })}
        onClick={(event) => {
          if (isBlocked) event.preventDefault();
          else props.onClick?.(event);
        }}
      >
        {icon && <Icon name={icon} />}
        {children}
        {shortcut && (
          // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a kbd cannot have the focus.
          <kbd aria-hidden="true">{shortcut}</kbd>
        )}
      </button>
      {blocked !== undefined && (
        <span id={reason} class="visually-hidden">
          {blocked}
        </span>
      )}
    </>
  );
}
