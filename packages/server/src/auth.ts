/**
 * Finds out who is calling. A token is a JWT, signed with a shared secret or by a key of a JWKS, as Supabase issues
 * them, or one of JobForge's own keys. The database decides what the caller may do.
 */
import { type ClientRole, clientRoles, tenantOf as tenantNamedBy } from "@jobforge/sdk-ts";
import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { type Caller, type Credential, type Holder, unauthorized } from "./database.ts";
import { RequestError } from "./errors.ts";
import { digestOf } from "./identity.ts";
import { hasCookie, isToken } from "./local-token.ts";
import { isJsonType } from "./media-type.ts";
import type { Settings } from "./options.ts";
import { requireOwnPage, sessionToken } from "./session.ts";

/** The form of a key created by `jobforge_create_token`. */
const keyPattern = /^jf_[0-9a-f]{8}_[0-9a-f]{64}$/;

/** What authentication reads of a request. */
export interface RequestHead {
  readonly method: string;
  readonly headers: Headers;
}

/** What a request presents. A JWT is not verified yet. */
export type Proof = Credential | { readonly kind: "jwt"; readonly token: string; readonly digest: string };

export interface Authenticator {
  /** Reads what a request presents. Throws if it is missing or malformed. Cheap: compares texts only. */
  read(request: RequestHead): Proof;
  /** Verifies a JWT. Returns any other proof as it is. */
  verify(proof: Proof): Promise<Credential>;
}

export function authenticator(settings: Settings): Authenticator {
  const verify = verifier(settings);
  const { localToken } = settings;
  return {
    read: (request) => {
      const token = tokenOf(request.headers) ?? tokenOfSession(request, settings);
      if (token === undefined) {
        // A browser sends the cookie without asking, so the rules of requests without a token apply.
        const isLocal = localToken !== undefined && hasCookie(request.headers, localToken);
        return anonymous(isLocal ? { ...settings, anonymousRole: localToken.role } : settings, request);
      }
      if (localToken !== undefined && isToken(token, localToken)) return acting(localToken.role);
      if (isKey(token)) {
        if (!keyPattern.test(token)) throw unauthorized("The key is malformed");
        return { kind: "key", digest: digestOf(token) };
      }
      if (!isJwt(token))
        throw unauthorized(
          localToken === undefined ? malformedOrForged : `${malformedOrForged}. ${renewedAtStart}`,
        );
      return { kind: "jwt", token, digest: digestOf(token) };
    },
    verify: async (proof) =>
      proof.kind === "jwt" ? { kind: "claims", caller: callerOf(await verify(proof.token)) } : proof,
  };
}

/** Whether a token is one of JobForge's own keys. Checks the prefix only. */
function isKey(token: string): boolean {
  return token.startsWith("jf_");
}

/**
 * Whether a token has the form of a JWT: three parts of base64url as RFC 7515 writes it. Decoders also accept padding,
 * and any value of the last bits that a byte does not use. Such a spelling of a valid token is refused.
 */
function isJwt(token: string): boolean {
  const parts = token.split(".");
  return parts.length === 3 && parts.every(isBase64Url);
}

function isBase64Url(part: string): boolean {
  return part !== "" && Buffer.from(part, "base64url").toString("base64url") === part;
}

/**
 * The token of a browser's session. A text that is no token counts as none: it is from an earlier start of jobforge
 * dev, and its cookie must not get in the way of the new one.
 */
function tokenOfSession(request: RequestHead, { localToken, trustProxy }: Settings): string | undefined {
  const token = sessionToken(request.headers);
  if (token === undefined) return undefined;
  if (!isKey(token) && !isJwt(token) && (localToken === undefined || !isToken(token, localToken)))
    return undefined;
  requireOwnPage(request, trustProxy);
  return token;
}

/** The token that a request presents, in a header or as the cookie of a session. */
export function presentedToken(headers: Headers): string | undefined {
  return tokenOf(headers) ?? sessionToken(headers);
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
 * The credential of a request without a token. Refuses requests of pages of other sites, and host names that an
 * attacker has pointed at this machine: they must not act with the developer's rights.
 */
function anonymous({ anonymousRole, localToken }: Settings, request: RequestHead): Credential {
  if (anonymousRole === undefined)
    throw unauthorized(
      localToken === undefined
        ? "A token is required"
        : "A token is required: open the URL that jobforge dev prints",
    );
  if (!isLocal(request.headers))
    throw unauthorized("A token is required: only pages and programs on this machine may call without one");
  if (couldBeForm(request))
    throw new RequestError(415, "PGRST102", "Without a token, a body must be JSON", {
      name: "unsupported_media_type",
      hint: "Send it with `Content-Type: application/json`.",
    });
  return acting(anonymousRole);
}

/** The credential of a caller that acts as a role for all tenants. */
function acting(role: ClientRole): Credential {
  const holder: Holder = { kind: "local", name: null, expiresAt: null };
  return { kind: "claims", caller: { role, tenantId: undefined, claims: { role }, holder } };
}

/** Whether a request comes from a page of this server, from a user who typed the address, or from a program. */
function isLocal(headers: Headers): boolean {
  const host = headers.get("host") ?? "localhost";
  const origin = headers.get("origin");
  // Browsers send it with every request, also where they send no Origin: for GET, and for navigation.
  const site = headers.get("sec-fetch-site") ?? "none";
  return (
    isLoopback(host) &&
    (origin === null || origin === `http://${host}`) &&
    (site === "same-origin" || site === "none")
  );
}

/**
 * Whether an old browser could send this request for a page of another site without asking the server first. Such a
 * request has no Origin, and its body has the type of a form or of plain text.
 */
function couldBeForm({ method, headers }: RequestHead): boolean {
  if (method === "GET" || method === "HEAD" || headers.get("origin") !== null) return false;
  const hasBody = headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0";
  const type = headers.get("content-type");
  return type === null ? hasBody : !isJsonType(type);
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[?::1\]?)(:\d+)?$/.test(host);
}

type Verify = (token: string) => Promise<JWTPayload>;

function verifier(settings: Settings): Verify {
  const { jwtSecret, jwksUrl, jwtIssuer, jwtAudience, allowJwtWithoutExp } = settings;
  const checks = {
    requiredClaims: allowJwtWithoutExp ? [] : ["exp"],
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

const malformedOrForged = "The token is malformed or its signature is wrong";
const renewedAtStart = "If it is from jobforge dev: it makes a new token at each start";

/** What is wrong with a claim of a token whose signature is right, so only its holder learns it. */
const claimTroubles: Readonly<Record<string, string>> = {
  nbf: "JWT not yet valid",
  iss: "The token is from another issuer",
  aud: "The token is for another audience",
  exp: "The token has no valid exp, so it would never expire",
};

function refusal(error: unknown): RequestError {
  if (error instanceof errors.JWTExpired) return invalidToken("PGRST303", "JWT expired");
  if (error instanceof errors.JWTClaimValidationFailed)
    return invalidToken("PGRST303", claimTroubles[error.claim] ?? "A claim of the token is malformed");
  if (error instanceof errors.JWKSTimeout)
    return new RequestError(503, "PGRST000", "The public keys for tokens cannot be fetched");
  if (error instanceof errors.JOSEError) return unauthorized(malformedOrForged);
  return new RequestError(503, "PGRST000", "The public keys for tokens cannot be fetched");
}

function invalidToken(code: string, message: string): RequestError {
  return new RequestError(401, code, message, {
    name: "unauthorized",
    headers: { "www-authenticate": 'Bearer error="invalid_token"' },
  });
}

/** The caller that the claims of a token name. Supabase's role `authenticated` is a user of an application. */
function callerOf(claims: JWTPayload): Caller {
  const given = claims["role"] === "authenticated" ? "jobforge_app" : claims["role"];
  const role = clientRoles.find((each) => each === given);
  if (role === undefined)
    throw forbidden(`The token's role must be one of ${clientRoles.join(", ")} or authenticated`);
  const tenantId = tenantOf(role, claims);
  // The kernel reads the same tenant from the claims. In this form, all routes and the kernel see one spelling of it.
  const named = tenantId === undefined ? claims : { ...claims, tenant_id: tenantId };
  return { role, tenantId, claims: named, holder: holderOf(claims) };
}

/** The person or program that the claims of a token name: by its e-mail, else its subject. */
function holderOf(claims: JWTPayload): Holder {
  const name = [claims["email"], claims.sub].find((each) => typeof each === "string" && each !== "");
  const expiresAt = claims.exp === undefined ? null : new Date(claims.exp * 1000).toISOString();
  return { kind: "jwt", name: typeof name === "string" ? name : null, expiresAt };
}

/**
 * The tenant in the claims, read as the kernel reads it: tenant_id, else app_metadata.tenant_id. An id that is not a
 * UUID is mapped as everywhere, and refused if it looks like a mistake. The kernel accepts a claimed tenant only for
 * jobforge_app. A worker or operator token with any tenant is refused: it would act for all tenants, which its issuer
 * did not intend.
 */
function tenantOf(role: ClientRole, claims: JWTPayload): string | undefined {
  const { app_metadata: metadata } = claims as { app_metadata?: { tenant_id?: unknown } | null };
  const claim = claims["tenant_id"] ?? metadata?.tenant_id ?? undefined;
  if (claim === undefined) return undefined;
  if (role !== "jobforge_app" && role !== "jobforge_tenant")
    throw forbidden(`A token of ${role} acts for all tenants, so it must not name one`);
  const tenantId = tenantNamedBy(claim);
  if (tenantId === undefined) throw forbidden("The token's tenant_id is not the id of a tenant");
  return tenantId;
}

function forbidden(message: string): RequestError {
  return new RequestError(403, "PGRST301", message, {
    name: "forbidden",
    hint: "For one tenant, use a token with the role jobforge_app and the claim tenant_id.",
  });
}
