/** Places for the steps of a workflow, in layers from left to right. Loaded only with the page of a workflow. */
import { Graph, layout } from "@dagrejs/dagre";
import { edgesOf, namedOf, type StepLike } from "./steps.ts";

export interface Box {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Line {
  readonly id: string;
  readonly policy: string;
  readonly path: string;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Steps. */
  readonly boxes: readonly Box[];
  /** Sub-workflows, around their steps. */
  readonly frames: readonly Box[];
  readonly lines: readonly Line[];
}

export const boxSize = { width: 176, height: 50 } as const;
const margin = 12;

export function drawingOf(steps: readonly StepLike[]): Drawing {
  const named = namedOf(steps);
  const groups = new Set(
    named.map(({ group_id }) => group_id).filter((id) => named.some((step) => step.id === id)),
  );
  const graph = new Graph({ compound: true });
  graph.setGraph({ rankdir: "LR", ranksep: 44, nodesep: 16, marginx: margin, marginy: margin });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const step of named) graph.setNode(step.id, groups.has(step.id) ? {} : { ...boxSize });
  for (const { id, group_id } of named)
    if (group_id !== null && groups.has(group_id)) graph.setParent(id, group_id);
  const edges = edgesOf(named);
  for (const { from, to } of edges) graph.setEdge(from, to);
  layout(graph);
  const boxOf = (id: string): Box => {
    const { x = 0, y = 0, width = 0, height = 0 } = graph.node(id) as Partial<Box>;
    return { id, x: x - width / 2, y: y - height / 2, width, height };
  };
  const all = named.map(({ id }) => boxOf(id));
  /** Where a line passes other layers, without its ends. */
  const bendsOf = (from: string, to: string): readonly Point[] => {
    const { points = [] } = graph.edge(from, to) as { readonly points?: readonly Point[] };
    return points.slice(1, -1);
  };
  const bends = edges.flatMap(({ from, to }) => bendsOf(from, to));
  return {
    width: Math.max(0, ...all.map(({ x, width }) => x + width)) + margin,
    height: Math.max(0, ...all.map(({ y, height }) => y + height), ...bends.map(({ y }) => y)) + margin,
    boxes: all.filter(({ id }) => !groups.has(id)),
    frames: all.filter(({ id }) => groups.has(id)),
    lines: edges.map(({ from, to, policy }) => ({
      id: `${from} ${to}`,
      policy,
      path: curve(boxOf(from), bendsOf(from, to), boxOf(to)),
    })),
  };
}

/** A line from the right side of one box to the left side of another, around the boxes of the layers between them. */
function curve(from: Box, bends: readonly Point[], to: Box): string {
  let at = { x: from.x + from.width, y: from.y + from.height / 2 };
  const end = { x: to.x - 4, y: to.y + to.height / 2 };
  // A single bend is in the gap between two neighbours, which a plain curve crosses as well.
  const parts = [...(bends.length > 1 ? bends : []), end].map((next) => {
    const bend = (next.x - at.x) / 2;
    const part = `C${at.x + bend} ${at.y} ${next.x - bend} ${next.y} ${next.x} ${next.y}`;
    at = next;
    return part;
  });
  return `M${from.x + from.width} ${from.y + from.height / 2}${parts.join("")}`;
}
