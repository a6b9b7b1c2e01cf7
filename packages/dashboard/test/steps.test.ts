/** The graph and the tree of a workflow show each named step once, with what it needs. */
import { expect, test } from "vitest";
import { drawingOf } from "../src/lib/layout.ts";
import { type Branch, edgesOf, itemsOf, progressOf, type StepLike, treeOf } from "../src/lib/steps.ts";

const step = (name: string | null, needs: string[] = [], group = "w", status = "blocked"): StepLike => ({
  id: name ?? `item ${Math.random()}`,
  workflow_id: "w",
  group_id: group,
  path: name ?? "map[0]",
  name,
  kind: "job",
  status,
  needs: needs.map((each) => ({ step: each, policy: "cancel" })),
});

const steps = [
  step("a"),
  step("b", ["a"]),
  step("c", ["a"]),
  step("sub", ["b", "c"]),
  step("x", [], "sub"),
  step("y", ["x"], "sub"),
  step("map", ["sub"]),
  step(null, [], "map", "succeeded"),
  step(null, [], "map", "running"),
];

const drawn = ({ step: { name }, also, below }: Branch<StepLike>): unknown[] => [
  name,
  ...also.map((each) => `also ${each.name}`),
  ...below.map(drawn),
];

test("a step is below the last step that it needs, and names the others", () => {
  expect(treeOf(steps).map(drawn)).toEqual([["a", ["b"], ["c", ["sub", "also b", ["x", ["y"]], ["map"]]]]]);
});

test("lines to and from a sub-workflow end at its first and last steps", () => {
  expect(edgesOf(steps).map(({ from, to }) => `${from} ${to}`)).toEqual([
    "a b",
    "a c",
    "b x",
    "c x",
    "x y",
    "y map",
  ]);
});

test("the items of a map are counted, not drawn", () => {
  expect(progressOf(itemsOf(steps, "map"))).toBe("1 of 2 items");
});

test("steps are drawn in layers, sub-workflows around their steps, and nothing overlaps", () => {
  const { boxes, frames, lines, width } = drawingOf(steps);
  expect(boxes.map(({ id }) => id)).toEqual(["a", "b", "c", "x", "y", "map"]);
  expect(lines).toHaveLength(6);
  const placed = new Map([...boxes, ...frames].map((box) => [box.id, box]));
  const right = (id: string): number => (placed.get(id)?.x ?? 0) + (placed.get(id)?.width ?? 0);
  for (const { from, to } of edgesOf(steps)) expect(right(from)).toBeLessThan(placed.get(to)?.x ?? 0);
  const [b, c] = [placed.get("b"), placed.get("c")];
  expect(Math.abs((b?.y ?? 0) - (c?.y ?? 0))).toBeGreaterThanOrEqual(b?.height ?? 0);
  const [sub, x] = [placed.get("sub"), placed.get("x")];
  expect(sub?.x).toBeLessThan(x?.x ?? 0);
  expect(right("sub")).toBeGreaterThan(right("y"));
  expect(width).toBeGreaterThan(right("map"));
});
