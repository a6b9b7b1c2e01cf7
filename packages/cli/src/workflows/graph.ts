/**
 * Draws the steps of a workflow as a tree. A step is drawn below the last of the steps that it needs, and the members
 * of a sub-workflow below it. The other needs of a step are named next to it. The items of a map are counted.
 */
import type { StepStatus, WorkflowStep } from "@jobforge/sdk-ts";
import type { Output } from "../output/output.ts";
import { toneOf } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { count, span } from "../output/values.ts";

interface Line {
  /** The branches of the tree and the name of the step. */
  readonly drawn: string;
  readonly step: WorkflowStep;
  readonly what: string;
  readonly also: string | undefined;
}

export function drawGraph(output: Output, steps: readonly WorkflowStep[]): string {
  return output.table(linesOf(steps), columns);
}

const columns: readonly Column<Line>[] = [
  { title: "step", value: ({ drawn }) => drawn },
  { title: "status", value: ({ step }) => step.status, tone: ({ step }) => toneOf(step.status) },
  { title: "what", value: ({ what }) => what, shrinks: true },
  { title: "also needs", value: ({ also }) => also, optional: true, shrinks: "away" },
  { title: "took", value: ({ step }) => tookOf(step), optional: true, align: "right", shrinks: "away" },
  {
    title: "error",
    value: ({ step }) => step.error?.message,
    optional: true,
    tone: () => "red",
    shrinks: "first",
  },
];

export function linesOf(steps: readonly WorkflowStep[]): Line[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const items = steps.filter(({ name }) => name === undefined);
  const below = new Map<string | undefined, WorkflowStep[]>();
  const parents = new Map<WorkflowStep, WorkflowStep | undefined>();
  for (const step of steps) {
    if (step.name === undefined) continue;
    const parent = needsOf(step, steps).at(-1) ?? byId.get(step.groupId ?? "");
    parents.set(step, parent);
    const siblings = below.get(parent?.id) ?? [];
    siblings.push(step);
    below.set(parent?.id, siblings);
  }
  const lines: Line[] = [];
  const draw = (step: WorkflowStep, before: string, branch: string, after: string): void => {
    const others = needsOf(step, steps).filter((need) => need !== parents.get(step));
    lines.push({
      drawn: `${before}${branch}${step.name ?? step.path}`,
      step,
      what: describe(step, items),
      also: others.length === 0 ? undefined : others.map(({ name }) => name).join(", "),
    });
    const children = below.get(step.id) ?? [];
    for (const [index, child] of children.entries()) {
      const isLast = index === children.length - 1;
      draw(child, `${before}${after}`, isLast ? "└─ " : "├─ ", isLast ? "   " : "│  ");
    }
  };
  for (const step of below.get(undefined) ?? []) draw(step, "", "", "");
  return lines;
}

/** The steps that a step needs, in the order in which they were made. Needs are names in the same group. */
function needsOf(step: WorkflowStep, steps: readonly WorkflowStep[]): WorkflowStep[] {
  const names = new Set(step.needs.map((need) => need.step));
  return steps.filter(
    ({ groupId, name }) => groupId === step.groupId && name !== undefined && names.has(name),
  );
}

function describe(step: WorkflowStep, items: readonly WorkflowStep[]): string {
  const { kind, type } = step;
  if (kind === "signal") return "signal";
  if (kind === "group") return "sub-workflow";
  if (kind !== "map") return type ?? "";
  const own = items.filter(({ groupId }) => groupId === step.id);
  const counts = new Map<StepStatus, number>();
  for (const { status } of own) counts.set(status, (counts.get(status) ?? 0) + 1);
  const parts = [...counts].map(([status, number]) => `${number} ${status}`);
  return `${type}, ${[count(own.length, "item"), ...parts].join(", ")}`;
}

function tookOf({ openedAt, decidedAt, endedAt }: WorkflowStep): string | undefined {
  const begin = openedAt ?? decidedAt;
  if (begin === undefined || endedAt === undefined) return undefined;
  return span(Math.max(0, endedAt.getTime() - begin.getTime()));
}
