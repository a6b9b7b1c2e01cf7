/**
 * Finds out who is calling. A token is a JWT, signed with a shared secret or by a key of a JWKS, as Supabase issues
 * them, or one of JobForge's own keys. The database decides what the caller may do.
 */
import { createHash } from "node:crypto";
import { type ClientRole, clientRoles } from "@jobforge/sdk-ts";
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { type Caller, type Credential, unauthorized } from "./database.ts";
import { RequestError } from "./errors.ts";
import { hasCookie, isToken } from "./local-token.ts";
import type { Settings } from "./options.ts";

/** The form of a key created by `jobforge_create_token`. */
const keyPattern = /^jf_[0-9a-f]{8}_[0-9a-f]{64}$/;

export type Authenticate = (headers: Headers) => Promise<Credential>;

export function authenticator(settings: Settings): Authenticate {
  const verify = verifier(settings);
  return async (headers) => {
    const token = tokenOf(headers);
    const { localToken } = settings;
    if (token === undefined) {
      // A browser sends the cookie without asking, so the rules of requests without a token apply.
      const isLocal = localToken !== undefined && hasCookie(headers, localToken);
      return anonymous(isLocal ? { ...settings, anonymousRole: localToken.role } : settings, headers);
    }
    if (localToken !== undefined && isToken(token, localToken)) return acting(localToken.role);
    if (isKey(token)) {
      if (!keyPattern.test(token)) throw unauthorized("The key is malformed");
      return { kind: "key", digest: digestOf(token) };
    }
    return { kind: "claims", caller: callerOf(await verify(token)) };
  };
}

/** Whether a token is one of JobForge's own keys. Checks the prefix only. */
export function isKey(token: string): boolean {
  return token.startsWith("jf_");
}

/** Identifies a token without storing the secret itself. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** The bearer token, or else the header `apikey`, which Supabase's clients send. */
export function tokenOf(headers: Headers): string | undefined {
  const authorization = headers.get("authorization");
  if (authorization === null) return headers.get("apikey") ?? undefined;
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (token === undefined) throw unauthorized("The header Authorization must have the form `Bearer …`");
  return token;
}

/**
 * The credential of a request without a token. Refuses pages of other origins, and host names that an attacker has
 * pointed at this machine: they must not act with the developer's rights.
 */
function anonymous({ anonymousRole, localToken }: Settings, headers: Headers): Credential {
  if (anonymousRole === undefined)
    throw unauthorized(
      localToken === undefined
        ? "A token is required"
        : "A token is required: open the URL that jobforge dev prints",
    );
  const host = headers.get("host") ?? "localhost";
  const origin = headers.get("origin");
  if (!isLoopback(host) || (origin !== null && origin !== `http://${host}`))
    throw unauthorized("A token is required: only pages and programs on this machine may call without one");
  return acting(anonymousRole);
}

/** The credential of a caller that acts as a role for all tenants. */
function acting(role: ClientRole): Credential {
  return { kind: "claims", caller: { role, tenantId: undefined, claims: { role } } };
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[?::1\]?)(:\d+)?$/.test(host);
}

type Verify = (token: string) => Promise<JWTPayload>;

function verifier({ jwtSecret, jwksUrl, jwtIssuer, jwtAudience }: Settings): Verify {
  const checks = {
    ...(jwtIssuer === undefined ? {} : { issuer: jwtIssuer }),
    ...(jwtAudience === undefined ? {} : { audience: jwtAudience }),
  };
  const secret = jwtSecret === undefined ? undefined : new TextEncoder().encode(jwtSecret);
  const keys: JWTVerifyGetKey | undefined =
    jwksUrl === undefined ? undefined : createRemoteJWKSet(new URL(jwksUrl));
  return async (token) => {
    try {
      if (secret !== undefined && (keys === undefined || algorithmOf(token) === "HS256"))
        return (await jwtVerify(token, secret, { ...checks, algorithms: ["HS256"] })).payload;
      // Never accept HS256 with a public key: the key is public, so anyone could sign.
      if (keys !== undefined)
        return (await jwtVerify(token, keys, { ...checks, algorithms: ["RS256", "ES256", "EdDSA"] })).payload;
    } catch (error) {
      throw refusal(error);
    }
    throw unauthorized("This server accepts no JWT, only keys that begin with jf_");
  };
}

function algorithmOf(token: string): unknown {
  try {
    const header: unknown = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
    return (header as { alg?: unknown } | null)?.alg;
  } catch {
    return undefined;
  }
}

function refusal(error: unknown): RequestError {
  if (error instanceof errors.JWTExpired)
    return new RequestError(401, "PGRST303", "JWT expired", {
      name: "unauthorized",
      headers: { "www-authenticate": 'Bearer error="invalid_token"' },
    });
  if (error instanceof errors.JWKSTimeout)
    return new RequestError(503, "PGRST000", "The public keys for tokens cannot be fetched");
  if (error instanceof errors.JOSEError)
    return unauthorized("The token is malformed or its signature is wrong");
  return new RequestError(503, "PGRST000", "The public keys for tokens cannot be fetched");
}

/** The caller that the claims of a token name. Supabase's role `authenticated` is a user of an application. */
function callerOf(claims: JWTPayload): Caller {
  const named = claims["role"] === "authenticated" ? "jobforge_app" : claims["role"];
  const role = clientRoles.find((each) => each === named);
  if (role === undefined)
    throw forbidden(`The token's role must be one of ${clientRoles.join(", ")} or authenticated`);
  return { role, tenantId: tenantOf(role, claims), claims };
}

/** The forms of a UUID that Postgres accepts. */
const uuidPattern = /^\{?[0-9a-f]{4}(-?[0-9a-f]{4}){7}\}?$/i;

/**
 * The tenant in the claims, read as the kernel reads it: tenant_id, else app_metadata.tenant_id. The kernel accepts a
 * claimed tenant only for jobforge_app. A worker or operator token with any tenant is refused: it would act for all
 * tenants, which its issuer did not intend.
 */
function tenantOf(role: ClientRole, claims: JWTPayload): string | undefined {
  const { app_metadata: metadata } = claims as { app_metadata?: { tenant_id?: unknown } | null };
  const tenantId = claims["tenant_id"] ?? metadata?.tenant_id ?? undefined;
  if (tenantId === undefined) return undefined;
  if (role !== "jobforge_app" && role !== "jobforge_tenant")
    throw forbidden(`A token of ${role} acts for all tenants, so it must not name one`);
  if (typeof tenantId !== "string" || !uuidPattern.test(tenantId))
    throw forbidden("The token's tenant_id is not a UUID");
  return tenantId;
}

function forbidden(message: string): RequestError {
  return new RequestError(403, "PGRST301", message, {
    name: "forbidden",
    hint: "For one tenant, use a token with the role jobforge_app and the claim tenant_id.",
  });
}
