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
  const { tenantId, claims } = credential.caller;
  const tenant = tenantId?.replaceAll(/[-{}]/g, "").toLowerCase();
  return `claims ${digestOf(JSON.stringify([claims["iss"], claims["role"], tenant, claims["sub"]]))}`;
}
