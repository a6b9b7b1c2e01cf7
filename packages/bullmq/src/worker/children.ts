/** The children of a run. A repeated run adds each of them once, because their ids follow from the run's job. */
import type { JobDefinition } from "@jobforge/sdk-ts";
import { type NewBullJob, newBullJob } from "../document.ts";
import { idOfKey } from "../layout.ts";
import type { BullRun } from "./held.ts";

/** Children come in the form in which the kernel takes them. */
interface Child {
  readonly type: string;
  readonly payload: unknown;
  readonly [key: string]: unknown;
}

export function childrenOf(
  { id, document }: BullRun,
  children: readonly unknown[],
  definitions: ReadonlyMap<string, JobDefinition>,
): NewBullJob[] {
  const { tenantId } = document;
  return (children as readonly Child[]).map(({ type, payload, ...keys }, place) =>
    newBullJob(
      { tenantId, type, keys, payload: { text: JSON.stringify(payload) } },
      {
        maxPriority: definitions.get(type)?.maxPriority,
        id: idOfKey(tenantId, type, `${id}:child:${place}`),
      },
    ),
  );
}
