import type { ComponentChildren, JSX } from "preact";
import css from "./Field.module.css";

interface FieldProps {
  readonly label: string;
  readonly id: string;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly children: ComponentChildren;
}

/** A field of a form with its name, a hint, and what is wrong with it. */
export function Field({ label, id, hint, problem, children }: FieldProps): JSX.Element {
  return (
    <div class={css["field"]}>
      <label for={id}>{label}</label>
      {children}
      {hint && <p class={css["hint"]}>{hint}</p>}
      {problem && (
        <p class={css["problem"]} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
