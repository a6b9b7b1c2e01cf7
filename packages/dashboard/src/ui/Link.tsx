/** A link inside the dashboard. It keeps the chosen tenant, and works with the middle button like any link. */
import type { ComponentChildren, JSX } from "preact";
import { hrefTo, navigate, type Params, useTenant } from "../state/route.ts";

interface LinkProps {
  readonly to: string;
  readonly params?: Params;
  readonly class?: string | undefined;
  readonly title?: string;
  readonly current?: boolean;
  readonly tabIndex?: number;
  readonly onFollow?: () => void;
  readonly children: ComponentChildren;
}

export function Link({ to, params = {}, onFollow, ...props }: LinkProps): JSX.Element {
  useTenant();
  return (
    <a
      href={hrefTo(to, params)}
      class={props.class}
      title={props.title}
      tabIndex={props.tabIndex}
      aria-current={props.current ? "page" : undefined}
      onClick={(event) => {
        const isPlain =
          event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
        if (!isPlain || event.defaultPrevented) return;
        event.preventDefault();
        onFollow?.();
        navigate(to, params);
      }}
    >
      {props.children}
    </a>
  );
}
