/**
 * The session of a browser: its token in a cookie that scripts cannot read. The server keeps nothing. The cookie has no
 * path, so browsers keep it for the folder of the sign-in as they see it, `…/v1`. That is right under any prefix.
 *
 * A browser sends a cookie without asking the page, so a request with it must come from a page of this server.
 */
import { isSecure, type TrustProxy } from "./address.ts";
import { RequestError } from "./errors.ts";
import { isJsonType } from "./media-type.ts";

/** Browsers drop a cookie of more than 4096 bytes, name and attributes included. */
export const maxSessionToken = 3800;

const attributes = "HttpOnly; SameSite=Strict";

/** The token of the session. Undefined if the request has no session. */
export function sessionToken(headers: Headers): string | undefined {
  const prefix = `${cookieName(headers)}=`;
  const cookies = (headers.get("cookie") ?? "").split(";").map((each) => each.trim());
  const found = cookies.find((each) => each.startsWith(prefix))?.slice(prefix.length);
  return found === "" ? undefined : found;
}

/** Whether a browser with a session sends the request, and no program with a token of its own. */
export function isFromSession(headers: Headers): boolean {
  return !headers.has("authorization") && !headers.has("apikey") && sessionToken(headers) !== undefined;
}

/** The header that begins a session. It ends with the browser, or when the token expires. */
export function beginSession(
  request: Request,
  token: string,
  expiresAt: string | null,
  trustProxy: TrustProxy,
): string {
  const { url, headers } = request;
  // The page's own origin says so too, where a proxy that is not trusted ends the encryption.
  const secure = isSecure(url, headers, trustProxy) || headers.get("origin")?.startsWith("https:") === true;
  const seconds = expiresAt === null ? undefined : Math.floor((Date.parse(expiresAt) - Date.now()) / 1000);
  return [
    `${cookieName(headers)}=${token}`,
    attributes,
    ...(secure ? ["Secure"] : []),
    ...(seconds === undefined ? [] : [`Max-Age=${Math.max(seconds, 0)}`]),
  ].join("; ");
}

/** The header that ends a session. */
export function endSession(headers: Headers): string {
  return `${cookieName(headers)}=; ${attributes}; Max-Age=0`;
}

/**
 * Refuses a request with a session that a page of another origin may have caused. A browser names the site of the page
 * in Sec-Fetch-Site, on https and on this machine. Elsewhere it names the origin in requests that change something. A
 * request that only reads may lack both: its response is of no use to another origin, which cannot see it.
 */
export function requireOwnPage(
  { method, headers }: { readonly method: string; readonly headers: Headers },
  trustProxy: TrustProxy,
): void {
  const reads = isReading(method);
  const own = isOwnPage(headers, trustProxy);
  if (own === false || (own === undefined && !reads))
    throw new RequestError(403, "PGRST301", "A session works only on pages of this server", {
      name: "forbidden",
      hint: "Programs send their token as `Authorization: Bearer …`.",
    });
  if (!reads && !hasJsonType(method, headers))
    throw new RequestError(415, "PGRST102", "With a session, a body must be JSON", {
      name: "unsupported_media_type",
      hint: "Send it with `Content-Type: application/json`.",
    });
}

/** Refuses a request that a page of another origin has caused, as far as its headers say so. */
export function refuseOtherPages(headers: Headers, trustProxy: TrustProxy): void {
  if (isOwnPage(headers, trustProxy) === false)
    throw new RequestError(403, "PGRST301", "Pages of other origins may not sign in or out", {
      name: "forbidden",
    });
}

/** Whether a page of this server caused the request. Undefined if the headers do not say. */
function isOwnPage(headers: Headers, trustProxy: TrustProxy): boolean | undefined {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin");
  if (origin === null) return undefined;
  const forwarded = trustProxy === false ? null : headers.get("x-forwarded-host");
  const hosts = [headers.get("host"), forwarded];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}

/** Another origin can send POST without asking, but not with JSON. For the other methods, browsers ask first. */
function hasJsonType(method: string, headers: Headers): boolean {
  const type = headers.get("content-type");
  if (type === null) return method !== "POST";
  return isJsonType(type);
}

function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Browsers send the cookies of a host to all of its ports, so the port is part of the name. */
function cookieName(headers: Headers): string {
  const [, port = "80"] = /:(\d+)$/.exec(headers.get("host") ?? "") ?? [];
  return `jobforge_session_${port}`;
}
