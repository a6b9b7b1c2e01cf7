import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import css from "./Panel.module.css";

interface PanelProps {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly tone?: "plain" | "bad" | "warn" | "good" | "info";
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}

/** A part of a page with a heading. */
export function Panel(props: PanelProps): JSX.Element {
  const { title, note, actions, tone = "plain", flush = false, children } = props;
  const heading = useId();
  return (
    <section class={`${css["panel"]} ${css[tone] ?? ""}`} aria-labelledby={heading}>
      <header class={css["head"]}>
        <h2 id={heading}>{title}</h2>
        {note && <span class={css["note"]}>{note}</span>}
        {actions && <span class={css["actions"]}>{actions}</span>}
      </header>
      <div class={flush ? css["flush"] : css["body"]}>{children}</div>
    </section>
  );
}

/** The heading of a page. The focus moves to it when a page opens. */
export function PageHead({
  title,
  note,
  children,
}: {
  title: ComponentChildren;
  note?: ComponentChildren;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <header class={css["page"]}>
      <div class={css["titles"]}>
        <h1 tabIndex={-1}>{title}</h1>
        {note && <p class={css["note"]}>{note}</p>}
      </div>
      {children && <div class={css["actions"]}>{children}</div>}
    </header>
  );
}

/** Pairs of a name and a value. */
export function Facts({
  facts,
}: {
  facts: readonly (readonly [string, ComponentChildren] | undefined | false)[];
}): JSX.Element {
  return (
    <dl class={css["facts"]}>
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
