/** The steps of a workflow as a tree: each below the last step that it needs. */
import type { JSX } from "preact";
import type { Step } from "../../api/workflows.ts";
import { type Branch, itemsOf, progressOf, treeOf } from "../../lib/steps.ts";
import { Link } from "../../ui/Link.tsx";
import { Status, type StatusWord } from "../../ui/Status.tsx";
import { Took } from "../../ui/Time.tsx";
import { errorOf } from "./errorOf.ts";
import type { StepsProps } from "./Graph.tsx";
import css from "./Workflows.module.css";

export function Tree(props: StepsProps): JSX.Element {
  return <Branches {...props} branches={treeOf(props.steps)} />;
}

function Branches({ branches, ...props }: StepsProps & { branches: readonly Branch<Step>[] }): JSX.Element {
  return (
    <ul class={css["tree"]}>
      {branches.map(({ step, also, below }) => (
        <li key={step.id}>
          <div class={`${css["line"]} ${step.path === props.chosen ? css["chosen"] : ""}`}>
            <Link to={`/workflows/${props.id}`} params={{ of: props.of, step: step.path }}>
              {step.name}
            </Link>
            <Status word={step.status as StatusWord} />
            <span class={css["what"]}>{whatOf(step, props.steps)}</span>
            {also.length > 0 && (
              <span class={css["what"]}>also after {also.map(({ name }) => name).join(", ")}</span>
            )}
            {step.decided_at !== null && (
              <span class={css["took"]}>
                <Took from={step.opened_at ?? step.decided_at} to={step.ended_at} />
              </span>
            )}
            <span class={css["error"]}>{errorOf(step)}</span>
          </div>
          {below.length > 0 && <Branches {...props} branches={below} />}
        </li>
      ))}
    </ul>
  );
}

export function whatOf(step: Step, steps: readonly Step[]): string {
  switch (step.kind) {
    case "map": {
      const items = itemsOf(steps, step.id);
      return items.length === 0
        ? `${step.type ?? ""} for each item`
        : `${step.type ?? ""}, ${progressOf(items)}`;
    }
    case "signal":
      return "a signal";
    case "group":
      return "a workflow of its own";
    default:
      return step.type ?? "";
  }
}
