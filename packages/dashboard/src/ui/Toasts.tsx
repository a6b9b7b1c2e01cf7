/** Short notes about what an action did. Assistive technology reads them out. */
import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { problemFrom } from "../api/problem.ts";
import { Button } from "./Button.tsx";
import css from "./Toasts.module.css";

interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed";
  readonly text: ComponentChildren;
  readonly undo?: { readonly label: string; readonly run: () => void };
}

const toasts: Signal<readonly Toast[]> = signal([]);
let last = 0;
const shownMs = 8000;
/** A mistake takes a moment to be noticed. */
const undoableMs = 20_000;

export function say(text: ComponentChildren, undo?: Toast["undo"]): void {
  add({ kind: "done", text, ...(undo === undefined ? {} : { undo }) });
}

/** Says what the server refused, and why. */
export function sayProblem(error: unknown): void {
  const { title, message, hint } = problemFrom(error);
  const sentences = [title.replace(/[.]?$/, "."), message, hint].filter((each) => each !== undefined);
  add({ kind: "failed", text: [...new Set(sentences)].join(" ") });
}

function add(toast: Omit<Toast, "id">): void {
  last += 1;
  const id = last;
  toasts.value = [...toasts.value.slice(-3), { ...toast, id }];
  // A failure stays until the user has read it.
  if (toast.kind === "done") setTimeout(() => remove(id), toast.undo === undefined ? shownMs : undoableMs);
}

function remove(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts(): JSX.Element {
  return (
    <div class={css["stack"]} role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, undo }) => (
        <div key={id} class={`${css["toast"]} ${kind === "failed" ? css["failed"] : ""}`}>
          <span>{text}</span>
          {undo && (
            <Button
              onClick={() => {
                remove(id);
                undo.run();
              }}
            >
              {undo.label}
            </Button>
          )}
          <Button kind="quiet" icon="close" label="Close this note" onClick={() => remove(id)} />
        </div>
      ))}
    </div>
  );
}
