/** The steps of a workflow as a graph and as a tree. Both show the same steps; items of a map are counted. */

export interface StepLike {
  readonly id: string;
  readonly workflow_id: string;
  readonly group_id: string | null;
  readonly path: string;
  readonly name: string | null;
  readonly kind: string;
  readonly status: string;
  readonly needs: readonly { readonly step: string; readonly policy: string }[];
}

/** A step without a name is an item of a map. */
export function namedOf<S extends StepLike>(steps: readonly S[]): S[] {
  return steps.filter(({ name }) => name !== null);
}

export function itemsOf<S extends StepLike>(steps: readonly S[], map: string): S[] {
  return steps.filter(({ name, group_id }) => name === null && group_id === map);
}

/** The steps that a step needs. Names are of the group that it belongs to. */
export function needsOf<S extends StepLike>(step: S, steps: readonly S[]): S[] {
  return step.needs.flatMap(({ step: name }) =>
    steps.filter((each) => each.name === name && each.group_id === step.group_id),
  );
}

export interface Branch<S extends StepLike> {
  readonly step: S;
  /** Needs that the tree does not show, because a step is drawn once. */
  readonly also: readonly S[];
  readonly below: readonly Branch<S>[];
}

/** A step is below the last of the steps that it needs, and the steps of a sub-workflow are below it. */
export function treeOf<S extends StepLike>(steps: readonly S[]): Branch<S>[] {
  const named = namedOf(steps);
  const byId = new Map(named.map((step) => [step.id, step]));
  const below = new Map<string, S[]>();
  const roots: S[] = [];
  for (const step of named) {
    const parent = needsOf(step, named).at(-1) ?? byId.get(step.group_id ?? "");
    if (parent === undefined) roots.push(step);
    else below.set(parent.id, [...(below.get(parent.id) ?? []), step]);
  }
  const branch = (step: S): Branch<S> => ({
    step,
    also: needsOf(step, named).slice(0, -1),
    below: (below.get(step.id) ?? []).map(branch),
  });
  return roots.map(branch);
}

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly policy: string;
}

/** Lines between steps. A line to or from a sub-workflow ends at its first or last steps. */
export function edgesOf(steps: readonly StepLike[]): Edge[] {
  const named = namedOf(steps);
  const members = (id: string): StepLike[] => named.filter(({ group_id }) => group_id === id);
  const needed = new Set(named.flatMap((step) => needsOf(step, named).map(({ id }) => id)));
  const first = (step: StepLike): string[] => {
    const inner = members(step.id).filter((each) => each.needs.length === 0);
    return inner.length === 0 ? [step.id] : inner.flatMap(first);
  };
  const last = (step: StepLike): string[] => {
    const inner = members(step.id).filter(({ id }) => !needed.has(id));
    return inner.length === 0 ? [step.id] : inner.flatMap(last);
  };
  return named.flatMap((step) =>
    step.needs.flatMap(({ step: name, policy }) =>
      named
        .filter((each) => each.name === name && each.group_id === step.group_id)
        .flatMap((need) => last(need).flatMap((from) => first(step).map((to) => ({ from, to, policy })))),
    ),
  );
}

/** "7 of 12 items", for a map. */
export function progressOf(items: readonly StepLike[]): string {
  const ended = items.filter(({ status }) =>
    ["succeeded", "failed", "dead", "canceled", "skipped"].includes(status),
  ).length;
  return `${ended} of ${items.length} items`;
}
