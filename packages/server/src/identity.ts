/** Names callers and their tokens for limits and logs, without storing a secret. */
import { createHash } from "node:crypto";
import type { Credential } from "./database.ts";

/** Identifies a token without storing the secret itself. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/**
 * Identifies the caller that a credential proves: the issuer, role, tenant and subject of verified claims, or the key.
 * All tokens of one caller have the same identity, however many it has and however they are written. An empty subject
 * counts as a missing one.
 */
export function identityOf(credential: Credential): string {
  if (credential.kind === "key") return `key ${credential.digest}`;
  const { role, tenantId, claims } = credential.caller;
  const parts = [claims["iss"], role, tenantId && oneSpelling(tenantId), claims["sub"] || undefined];
  return `claims ${digestOf(JSON.stringify(parts))}`;
}

/** Identifies the tenant that a caller is bound to. Undefined if it is bound to none. */
export function tenantIdentityOf(tenantId: string | undefined): string | undefined {
  return tenantId === undefined ? undefined : `tenant ${oneSpelling(tenantId)}`;
}

/** A tenant's id in one spelling. Postgres accepts several. */
function oneSpelling(tenantId: string): string {
  return tenantId.replaceAll(/[-{}]/g, "").toLowerCase();
}
