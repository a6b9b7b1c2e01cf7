/** Names callers and their tokens for limits and logs, without storing a secret. */
import { createHash } from "node:crypto";
import type { Credential } from "./database.ts";

/** Identifies a token without storing the secret itself. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/**
 * Identifies the caller that a credential proves: the issuer, role, tenant and subject of verified claims, or the key.
 * All tokens of one caller have the same identity, however many it has and however they are written.
 */
export function identityOf(credential: Credential): string {
  if (credential.kind === "key") return `key ${credential.digest}`;
  const { claims } = credential.caller;
  const parts = [claims["iss"], claims["role"], tenantIn(credential), claims["sub"]];
  return `claims ${digestOf(JSON.stringify(parts))}`;
}

/** Identifies the tenant of verified claims. Undefined if they have none, or if only the database knows it. */
export function tenantIdentityOf(credential: Credential): string | undefined {
  const tenant = tenantIn(credential);
  return tenant === undefined ? undefined : `tenant ${tenant}`;
}

/** The claimed tenant in one spelling. Postgres accepts several. */
function tenantIn(credential: Credential): string | undefined {
  if (credential.kind === "key") return undefined;
  return credential.caller.tenantId?.replaceAll(/[-{}]/g, "").toLowerCase();
}
