/**
 * The token of a server on a developer's machine, as `jobforge dev` makes one at each start. Other users of the machine
 * reach the port but do not know the token. A program sends it as a bearer token. A browser opens the page with
 * `?token=…` once, and sends it as a cookie from then on.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { LocalToken } from "./options.ts";

export function isToken(given: string, { token }: LocalToken): boolean {
  return timingSafeEqual(digest(given), digest(token));
}

/** Whether the request has the cookie that `cookieFor` made. */
export function hasCookie(headers: Headers, local: LocalToken): boolean {
  const name = cookieName(headers);
  const cookies = (headers.get("cookie") ?? "").split(";").map((each) => each.trim().split("="));
  return cookies.some(([key, value]) => key === name && value !== undefined && isToken(value, local));
}

/** The header that makes a browser keep the token until it is closed, out of reach of scripts and of other sites. */
export function cookieFor(headers: Headers, { token }: LocalToken): string {
  return `${cookieName(headers)}=${token}; HttpOnly; SameSite=Strict; Path=/`;
}

/** Browsers send the cookies of a host to all of its ports, so the port is part of the name. */
function cookieName(headers: Headers): string {
  const [, port = "80"] = /:(\d+)$/.exec(headers.get("host") ?? "") ?? [];
  return `jobforge_${port}`;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
