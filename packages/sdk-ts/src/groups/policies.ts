/** Policies: how the jobs of a type are retried, leased, kept and shown. */
import { checkPolicy } from "../arguments/definitions.ts";
import { checkType } from "../arguments/names.ts";
import { checkedPageSize, List, type PageOptions } from "../jobs/list.ts";
import { knownOptions } from "../option-names.ts";
import { fromRow, nameOf, toKeys } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import type { KeepLogs, RetryPreset } from "../words.ts";

/** How a type behaves. */
export interface Policy {
  /** The type, or `*` if it has no policy of its own. */
  readonly type: string;
  readonly baseMs: number;
  /** Undefined: one year. */
  readonly capMs: number | undefined;
  readonly factor: number;
  readonly jitter: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number | undefined;
  readonly leaseMs: number | undefined;
  readonly auditAction: string | undefined;
  readonly keepHistory: boolean;
  readonly retentionDays: number | undefined;
  readonly maxPriority: number | undefined;
  readonly redact: readonly string[];
  readonly keepLogs: KeepLogs;
  /** The settings that an operator has made. Definitions do not replace them until they change themselves. */
  readonly byHand: readonly string[];
  readonly updatedAt: Date | undefined;
  readonly updatedBy: string | undefined;
}

/** Changes to a policy. Null removes an optional setting. */
export interface PolicyChanges {
  /** Sets `baseMs`, `capMs`, `factor` and `maxAttempts`, except those that are given as well. */
  readonly preset?: RetryPreset | undefined;
  readonly baseMs?: number | undefined;
  readonly capMs?: number | null | undefined;
  readonly factor?: number | undefined;
  readonly jitter?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly timeoutMs?: number | null | undefined;
  readonly leaseMs?: number | null | undefined;
  readonly auditAction?: string | null | undefined;
  readonly keepHistory?: boolean | undefined;
  readonly retentionDays?: number | null | undefined;
  readonly maxPriority?: number | null | undefined;
  readonly redact?: readonly string[] | undefined;
  readonly keepLogs?: KeepLogs | undefined;
}

/** What `policies.reset` did. */
export interface PolicyReset {
  readonly type: string;
  /** False if the type had no policy of its own. */
  readonly reset: boolean;
  /** The policy that applies now. */
  readonly policy: Policy;
}

/** For operators. Workers may get. */
export class Policies {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** How a type behaves: its own policy, or the default one, whose `type` is then `*`. */
  async get(type: string): Promise<Policy> {
    if (type !== "*") checkType(type);
    return readPolicy(await this.#transport.call<object>("jobforge_get_policy", { p_type: type }));
  }

  /** Sets how a type behaves, or with `*` every type without a policy of its own. What is not given stays. */
  async set(type: string, changes: PolicyChanges): Promise<Policy> {
    if (type !== "*") checkType(type);
    checkPolicy(changes);
    const args = { p_type: type, p_policy: toKeys(changes) };
    return readPolicy(await this.#transport.call<object>("jobforge_set_policy", args));
  }

  /** The default policy, whose type is `*`, and the policies that types have of their own, ordered by type. */
  list(options: PageOptions = {}): List<Policy> {
    const limit = checkedPageSize(knownOptions(options, "page"));
    return new List(async (cursor) => {
      const rows = await this.#transport.call<object[]>("jobforge_list_policies", {
        p_filters: { limit, cursor },
      });
      const items = rows.map(readPolicy);
      return { items, cursor: items.length === limit ? items.at(-1)?.type : undefined };
    });
  }

  /** Removes the policy of a type, so that the default applies. `*` resets the default policy itself. */
  async reset(type: string): Promise<PolicyReset> {
    if (type !== "*") checkType(type);
    const result = await this.#transport.call<{ type: string; reset: boolean; policy: object }>(
      "jobforge_reset_policy",
      { p_type: type },
    );
    return { ...result, policy: readPolicy(result.policy) };
  }
}

function readPolicy(row: object): Policy {
  const policy = fromRow<Policy>(row);
  return { ...policy, byHand: (policy.byHand ?? []).map(nameOf) };
}
