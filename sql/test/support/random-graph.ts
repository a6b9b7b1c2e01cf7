/** Random graphs of steps, maps and sub-workflows, and a model of what each of their steps must end as. */
import type { Random } from "./random.ts";
import type { Step } from "./workflows.ts";

type Policy = "cancel" | "run" | "compensate";

export interface Node {
  readonly name: string;
  readonly needs: readonly { readonly step: string; readonly policy: Policy }[];
  readonly optional: boolean;
  /** Of a job: whether its handler refuses. */
  readonly fails: boolean;
  /** Of a map: for each item, whether its handler refuses. */
  readonly items?: readonly boolean[];
  /** Of a sub-workflow. */
  readonly members?: readonly Node[];
}

const policies: readonly Policy[] = ["cancel", "cancel", "cancel", "run", "compensate"];

/** Returns a graph of `size` steps. Each needs up to three of the eight before it. */
export function randomGraph(random: Random, size: number, level = 1): Node[] {
  return Array.from({ length: size }, (_, n) => {
    const names = Array.from(
      { length: n === 0 ? 0 : random.below(4) },
      () => n - 1 - random.below(Math.min(n, 8)),
    );
    const kind = random.below(10);
    return {
      name: `s${n}`,
      needs: [...new Set(names)].map((need) => ({ step: `s${need}`, policy: random.pick(policies) })),
      optional: random.chance(0.2),
      fails: random.chance(0.1),
      ...(kind === 0 ? { items: Array.from({ length: random.below(5) }, () => random.chance(0.1)) } : {}),
      ...(kind === 1 && level < 3 ? { members: randomGraph(random, 1 + random.below(5), level + 1) } : {}),
    };
  });
}

/** Returns the graph as jobforge_start_workflow takes it. */
export function stepsOfGraph(graph: readonly Node[]): Step[] {
  return graph.map(({ name, needs, optional, items, members }) => ({
    name,
    needs,
    optional,
    ...(members === undefined ? { type: "a" } : { steps: stepsOfGraph(members) }),
    ...(items === undefined ? {} : { map: { over: items } }),
  }));
}

/** Returns the paths of the jobs whose handlers refuse. */
export function failures(graph: readonly Node[], prefix = ""): string[] {
  return graph.flatMap(({ name, fails, items, members }) => {
    const path = prefix + name;
    if (members !== undefined) return failures(members, `${path}/`);
    if (items !== undefined) return items.flatMap((bad, index) => (bad ? [`${path}[${index}]`] : []));
    return fails ? [path] : [];
  });
}

type Ends = Record<string, string>;

/** Returns how every step ends, by path. A map or a sub-workflow that does not open has no members. */
export function endsOf(graph: readonly Node[], prefix = ""): Ends {
  const ends: Ends = {};
  for (const node of graph) {
    const path = prefix + node.name;
    const dooms = node.needs.flatMap(({ step, policy }) => {
      const end = ends[prefix + step] ?? "";
      if (policy === "cancel") return end === "succeeded" ? [] : [end === "skipped"];
      if (policy === "compensate") return end === "succeeded" || end === "skipped" ? [true] : [];
      return [];
    });
    if (dooms.length > 0) ends[path] = dooms.every(Boolean) ? "skipped" : "canceled";
    else Object.assign(ends, endsOfOpen(node, path));
  }
  return ends;
}

/** Returns the ends of a step that is not doomed, and of its members. */
function endsOfOpen({ fails, items, members }: Node, path: string): Ends {
  if (members !== undefined) {
    const inner = endsOf(members, `${path}/`);
    return { ...inner, [path]: hasFailed(members, inner, `${path}/`) ? "failed" : "succeeded" };
  }
  if (items !== undefined) {
    const inner = items.map((bad, index) => [`${path}[${index}]`, bad ? "failed" : "succeeded"] as const);
    return { ...Object.fromEntries(inner), [path]: items.some(Boolean) ? "failed" : "succeeded" };
  }
  return { [path]: fails ? "failed" : "succeeded" };
}

/** Returns whether a step of a list, which is not optional, ended badly. */
export function hasFailed(graph: readonly Node[], ends: Ends, prefix = ""): boolean {
  return graph.some(
    ({ name, optional }) => !optional && ["failed", "canceled"].includes(ends[prefix + name] ?? ""),
  );
}
