/** What a backend does not do, with the reason: abilities that it lacks, and single scenarios that it cannot play. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Target } from "./targets.ts";

const form = z.strictObject({
  /** By ability: the reason. */
  abilities: z.record(z.string(), z.string().min(20)),
  scenarios: z.array(z.strictObject({ reason: z.string().min(20), paths: z.array(z.string()).min(1) })),
});

export interface NotSupported {
  readonly abilities: Readonly<Record<string, string>>;
  /** By the path of a scenario: the reason. */
  readonly scenarios: ReadonlyMap<string, string>;
}

export const notSupported: NotSupported = read("redis");

export function isOnRedis({ way }: Pick<Target, "way">): boolean {
  return way === "redis" || way === "redis-cluster";
}

function read(backend: string): NotSupported {
  const file = join(import.meta.dirname, "..", "not-supported", `${backend}.yaml`);
  const { abilities, scenarios } = form.parse(parse(readFileSync(file, "utf8")));
  const reasons = scenarios.flatMap(({ reason, paths }) => paths.map((path) => [path, reason] as const));
  return { abilities, scenarios: new Map(reasons) };
}
