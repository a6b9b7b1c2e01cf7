/** The keys of the server, as the database returns them. A key itself is returned only once, when it is created. */
import type { JobForge } from "@jobforge/sdk-ts";

export interface NewToken {
  readonly name: string;
  readonly role: string;
  readonly tenantId: string | undefined;
  readonly expiresAt: Date | undefined;
}

export interface CreatedToken extends NewToken {
  readonly id: string;
  /** The key itself. */
  readonly token: string;
  readonly prefix: string;
  readonly createdAt: Date;
}

export interface Token extends Omit<CreatedToken, "token"> {
  readonly createdBy: string;
  /** Can be up to a minute out of date. */
  readonly lastUsedAt: Date | undefined;
  readonly revokedAt: Date | undefined;
}

interface CreatedRow {
  readonly id: string;
  readonly token: string;
  readonly name: string;
  readonly prefix: string;
  readonly role: string;
  readonly tenant_id: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
}

interface TokenRow extends Omit<CreatedRow, "token"> {
  readonly created_by: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

interface RevokedRow {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly revoked_at: string;
}

export async function createToken(forge: JobForge, wanted: NewToken): Promise<CreatedToken> {
  const { name, role, tenantId, expiresAt } = wanted;
  const row = await forge.transport.call<CreatedRow>("jobforge_create_token", {
    p_name: name,
    p_role: role,
    p_tenant_id: tenantId,
    p_expires_at: expiresAt,
  });
  return { ...common(row), token: row.token };
}

/** Returns all keys, the newest first, including revoked and expired ones. */
export async function listTokens(forge: JobForge): Promise<Token[]> {
  const rows = await forge.transport.call<TokenRow[]>("jobforge_list_tokens", {});
  return rows.map((row) => ({
    ...common(row),
    createdBy: row.created_by,
    lastUsedAt: timeOf(row.last_used_at),
    revokedAt: timeOf(row.revoked_at),
  }));
}

export async function revokeToken(
  forge: JobForge,
  id: string,
): Promise<Pick<Token, "id" | "name" | "prefix" | "revokedAt">> {
  const row = await forge.transport.call<RevokedRow>("jobforge_revoke_token", { p_token_id: id });
  return { id: row.id, name: row.name, prefix: row.prefix, revokedAt: timeOf(row.revoked_at) };
}

export function stateOf({ revokedAt, expiresAt }: Token): "valid" | "expired" | "revoked" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt.getTime() <= Date.now() ? "expired" : "valid";
}

function common(row: Omit<CreatedRow, "token">): Omit<CreatedToken, "token"> {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    role: row.role,
    tenantId: row.tenant_id ?? undefined,
    createdAt: new Date(row.created_at),
    expiresAt: timeOf(row.expires_at),
  };
}

function timeOf(text: string | null): Date | undefined {
  return text === null ? undefined : new Date(text);
}
