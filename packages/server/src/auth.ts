/**
 * Who is calling: a JWT signed with a shared secret or by a key of a JWKS, as Supabase makes them, or one of JobForge's own keys.
 * What a token may do is the database's to decide; here it is only found out whose it is.
 */
import { createHash } from "node:crypto";
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { type Caller, type Credential, unauthorized } from "./database.ts";
import { RequestError } from "./errors.ts";
import { type ClientRole, clientRoles, type Settings } from "./options.ts";

/** How keys of `jobforge_create_token` begin. */
const KEY = /^jf_[0-9a-f]{8}_[0-9a-f]{64}$/;

export type Authenticate = (headers: Headers) => Promise<Credential>;

export function authenticator(settings: Settings): Authenticate {
  const verify = verifier(settings);
  return async (headers) => {
    const token = tokenOf(headers);
    if (token === undefined) return anonymous(settings, headers);
    if (isKey(token)) {
      if (!KEY.test(token)) throw unauthorized("The key is malformed");
      return { kind: "key", digest: digestOf(token) };
    }
    return { kind: "claims", caller: callerOf(await verify(token)) };
  };
}

/** Whether a token is one of JobForge's own keys, by its form. */
export function isKey(token: string): boolean {
  return token.startsWith("jf_");
}

/** What counts requests of one caller, without keeping its secret. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** The bearer token; Supabase's clients send their key as `apikey`, too. */
export function tokenOf(headers: Headers): string | undefined {
  const authorization = headers.get("authorization");
  if (authorization === null) return headers.get("apikey") ?? undefined;
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (token === undefined) throw unauthorized("The header Authorization is not of the form `Bearer …`");
  return token;
}

/** Pages of other origins, and names that somebody pointed at this machine, must not act as a developer. */
function anonymous({ anonymousRole }: Settings, headers: Headers): Credential {
  if (anonymousRole === undefined) throw unauthorized("A token is required");
  const host = headers.get("host") ?? "localhost";
  const origin = headers.get("origin");
  if (!isLoopback(host) || (origin !== null && origin !== `http://${host}`))
    throw unauthorized("A token is required: only this machine's own pages may call without one");
  return {
    kind: "claims",
    caller: { role: anonymousRole, tenantId: undefined, claims: { role: anonymousRole } },
  };
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
      // Never HS256 with a public key: what everybody knows would be the secret.
      if (keys !== undefined)
        return (await jwtVerify(token, keys, { ...checks, algorithms: ["RS256", "ES256", "EdDSA"] })).payload;
    } catch (error) {
      throw refusal(error);
    }
    throw unauthorized("This server accepts no JWT");
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
    return new RequestError(503, "PGRST000", "The keys of tokens cannot be fetched");
  if (error instanceof errors.JOSEError)
    return unauthorized("The token is malformed or its signature is wrong");
  return new RequestError(503, "PGRST000", "The keys of tokens cannot be fetched");
}

/** The role of a token. Supabase's `authenticated` is an application's user. */
function callerOf(claims: JWTPayload): Caller {
  const named = claims["role"] === "authenticated" ? "jobforge_app" : claims["role"];
  const role = clientRoles.find((each) => each === named);
  if (role === undefined)
    throw forbidden(`The token's role is none of ${clientRoles.join(", ")} or authenticated`);
  return { role, tenantId: tenantOf(role, claims), claims };
}

/** A uuid as Postgres reads it. */
const UUID = /^\{?[0-9a-f]{4}(-?[0-9a-f]{4}){7}\}?$/i;

/**
 * As the kernel reads it: tenant_id, else app_metadata.tenant_id. The kernel believes a claimed tenant of jobforge_app only. A worker or
 * operator that names one, whatever it is, would act for all of them, which whoever made the token did not mean.
 */
function tenantOf(role: ClientRole, claims: JWTPayload): string | undefined {
  const { app_metadata: metadata } = claims as { app_metadata?: { tenant_id?: unknown } | null };
  const tenantId = claims["tenant_id"] ?? metadata?.tenant_id ?? undefined;
  if (tenantId === undefined) return undefined;
  if (role !== "jobforge_app" && role !== "jobforge_tenant")
    throw forbidden(`A token of ${role} acts for every tenant, so it must not name one`);
  if (typeof tenantId !== "string" || !UUID.test(tenantId))
    throw forbidden("The token's tenant_id is not a UUID");
  return tenantId;
}

function forbidden(message: string): RequestError {
  return new RequestError(403, "PGRST301", message, {
    name: "forbidden",
    hint: "For one tenant, make a token with the role jobforge_app and the claim tenant_id.",
  });
}
