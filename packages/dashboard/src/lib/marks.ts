/** What people changed for all tenants, as marks on charts: a pause explains a line that rises. */
import type { Schemas } from "../api/client.ts";

type Entry = Pick<Schemas["AuditEntry"], "id" | "at" | "actor" | "action" | "entity_id">;

export interface Mark {
  readonly id: number;
  readonly at: number;
  readonly words: string;
  readonly actor: string;
}

/** The words for an action, before the name of the thing. */
const verbs: Readonly<Record<string, string>> = {
  GATE_PAUSED: "Paused",
  GATE_RESUMED: "Resumed",
  LIMIT_SET: "Set the limit of",
  LIMIT_REMOVED: "Removed the limit of",
  POLICY_SET: "Changed the policy of",
  POLICY_RESET: "Removed the policy of",
};

/** The oldest first. `type`: only what concerns jobs of this type. */
export function marksOf(entries: readonly Entry[], type?: string): Mark[] {
  return entries
    .flatMap(({ id, at, actor, action, entity_id }) => {
      const verb = verbs[action];
      const thing = thingOf(entity_id);
      if (verb === undefined || (type !== undefined && !concerns(thing, type))) return [];
      return [{ id, at: Date.parse(at), words: `${verb} ${nameOf(thing)}`, actor }];
    })
    .sort((a, b) => a.at - b.at);
}

interface Thing {
  readonly scope: string;
  readonly key: string;
}

/** "type:mail.send", "all", or the type itself as entries of policies have it. */
function thingOf(id: string): Thing {
  const [, scope, key = ""] = /^(all|type|tenant|type_tenant|key)(?::(.*))?$/s.exec(id) ?? [];
  return scope === undefined ? { scope: "type", key: id } : { scope, key };
}

function concerns({ scope, key }: Thing, type: string): boolean {
  if (scope === "all" || key === "*") return true;
  return scope.startsWith("type") && (key === type || key.startsWith(`${type}:`));
}

function nameOf({ scope, key }: Thing): string {
  if (scope === "all") return "everything";
  if (key === "*") return `every ${scope.replaceAll("_", " and ")}`;
  return scope === "type" ? key : `the ${scope.replaceAll("_", " and ")} ${key}`;
}
