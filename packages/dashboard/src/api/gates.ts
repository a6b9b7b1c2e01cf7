/** Pauses. Each can be taken back in full: a resumed one is set again with its reason and its end. */
import { api, bodyOf, type Schemas } from "./client.ts";

export type Gate = Schemas["Gate"];

export interface Place {
  readonly scope: Gate["scope"];
  /** The type or the id of the tenant. Null: everything. */
  readonly key: string | null;
}

export interface Details {
  readonly reason?: string | null;
  readonly until?: string | null;
}

export function pause(
  { scope, key }: Place,
  { reason = null, until = null }: Details = {},
): Promise<unknown> {
  return bodyOf(
    api.PUT("/v1/gates", { body: { scope, key: keyOf(scope, key), paused: true, reason, until } }),
  );
}

export function resume({ scope, key }: Place): Promise<unknown> {
  return bodyOf(api.PUT("/v1/gates", { body: { scope, key: keyOf(scope, key), paused: false } }));
}

/** The kernel lists the gate of everything with an empty key, and sets it without one. */
function keyOf(scope: Place["scope"], key: string | null): string | null {
  return scope === "all" ? null : key;
}
