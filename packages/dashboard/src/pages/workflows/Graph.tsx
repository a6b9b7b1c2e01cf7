/** The steps of a workflow in layers. Each step is a link; the tree below shows the same to assistive technology. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Step } from "../../api/workflows.ts";
import { type Box, drawingOf } from "../../lib/layout.ts";
import { itemsOf, namedOf, progressOf } from "../../lib/steps.ts";
import { Link } from "../../ui/Link.tsx";
import { Status, type StatusWord } from "../../ui/Status.tsx";
import css from "./Workflows.module.css";

/** Larger graphs are not readable; the tree shows them. */
const mostDrawn = 150;

export interface StepsProps {
  readonly steps: readonly Step[];
  readonly chosen: string | undefined;
  readonly id: string;
  readonly of: string;
}

export function Graph({ steps, chosen, id, of }: StepsProps): JSX.Element {
  const named = namedOf(steps);
  const isDrawn = named.length <= mostDrawn;
  // Places depend on names and needs, which do not change while a workflow runs.
  const shape = named.map((step) => step.id).join();
  const drawing = useMemo(() => (isDrawn ? drawingOf(named) : undefined), [shape]);
  const byId = useMemo(() => new Map(named.map((step) => [step.id, step])), [steps]);
  if (drawing === undefined)
    return <p class="inset">The workflow has too many steps for a graph. They are listed below.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
    <section class={css["scroll"]} tabIndex={0} aria-label="Graph of the steps">
      <div class={css["graph"]} style={{ width: `${drawing.width}px`, height: `${drawing.height}px` }}>
        <svg aria-hidden="true" width={drawing.width} height={drawing.height}>
          <defs>
            <marker
              id="arrow"
              viewBox="0 0 8 8"
              refX="6"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto"
            >
              <path d="M0 0 8 4 0 8z" />
            </marker>
          </defs>
          {drawing.lines.map(({ id: line, path, policy }) => (
            <path key={line} d={path} class={css["edge"]} data-policy={policy} marker-end="url(#arrow)" />
          ))}
        </svg>
        {drawing.frames.map((box) => (
          <div key={box.id} class={css["frame"]} style={placeOf(box)}>
            <span>{byId.get(box.id)?.name}</span>
          </div>
        ))}
        {drawing.boxes.map((box) => {
          const step = byId.get(box.id);
          if (step === undefined) return null;
          return (
            <div key={box.id} class={css["place"]} style={placeOf(box)}>
              <Link
                to={`/workflows/${id}`}
                params={{ of, step: step.path }}
                class={`${css["box"]} ${css[step.status] ?? ""} ${step.path === chosen ? css["chosen"] : ""}`}
                title={`${step.path}: ${step.status}`}
              >
                <b>{step.name}</b>
                <Status word={step.status as StatusWord} label={labelOf(step, steps)} />
              </Link>
            </div>
          );
        })}
      </div>
    </section>
  );
}

function labelOf(step: Step, steps: readonly Step[]): string {
  if (step.kind !== "map") return step.status;
  const items = itemsOf(steps, step.id);
  return items.length === 0 ? step.status : progressOf(items);
}

function placeOf({ x, y, width, height }: Box): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` };
}
