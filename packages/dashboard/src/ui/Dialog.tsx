/** A modal dialog of the platform: focus stays inside, Escape closes it, the focus returns afterwards. */
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./Button.tsx";
import css from "./Dialog.module.css";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Makes the dialog a form: Enter in a field submits it. */
  readonly onSubmit?: () => void;
}

export function Dialog({ title, onClose, wide, children, actions, onSubmit }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the next key: what is typed at once belongs into the dialog, and is no shortcut of the page.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const body = (
    <>
      <header class={css["head"]}>
        <h2 id={heading}>{title}</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
      </header>
      <div class={css["body"]}>{children}</div>
      {actions && <footer class={css["foot"]}>{actions}</footer>}
    </>
  );
  return (
    <dialog
      ref={dialog}
      class={`${css["dialog"]} ${wide ? css["wide"] : ""}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      {onSubmit === undefined ? (
        body
      ) : (
        <form
          class={css["form"]}
          onSubmit={(event) => {
            event.preventDefault();
            onSubmit();
          }}
        >
          {body}
        </form>
      )}
    </dialog>
  );
}
