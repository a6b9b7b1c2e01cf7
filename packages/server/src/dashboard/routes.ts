/**
 * Serves the dashboard: its assets, and the shell for every page. Both are public. The data comes from /v1, which is
 * not.
 */
import { type Context, Hono } from "hono";
import { accepts } from "../compression.ts";
import { isKnown } from "../etag.ts";
import { cookieFor } from "../local-token.ts";
import type { Environment, Services } from "../services.ts";
import { uiText } from "../v1/ui.ts";
import type { Asset, DashboardFolder } from "./folder.ts";
import { contentSecurityPolicy, shells } from "./shell.ts";

/** The names of assets have a hash of their contents, so browsers may keep them. */
const immutable = "public, max-age=31536000, immutable";

/** What begins like this is no page. A path of it that does not exist is reported as such, also to a browser. */
const notPages = /^\/(v1|rest|api|assets|metrics|healthz|readyz)(\/|$)/;

export interface Dashboard {
  readonly routes: Hono<Environment>;
  /** The page at a path that no route has, if a browser navigates to it. */
  page(c: Context<Environment>): Response | undefined;
}

export function serveDashboard(services: Services, folder: DashboardFolder): Dashboard {
  const routes = new Hono<Environment>();
  const shellFor = shells(folder.shell, uiText(services.settings));
  const { dashboard } = services.settings;
  const policy = contentSecurityPolicy(dashboard === false ? [] : dashboard?.frameOrigins);
  const send = (c: Context<Environment>): Response | undefined => {
    const shell = shellFor(pathBelow(c.req.url, services.settings.basePath));
    if (shell === undefined) return undefined;
    services.admitOpen(c);
    const headers = {
      "content-security-policy": policy,
      "cache-control": "no-cache",
      etag: shell.etag,
    };
    if (isKnown(c.req.header("if-none-match"), shell.etag)) return c.body(null, 304, headers);
    return c.body(shell.text, 200, { ...headers, "content-type": "text/html; charset=utf-8" });
  };
  routes.get("/assets/*", async (c, next) => {
    const asset = folder.assets.get(c.req.path.slice("/assets/".length));
    if (asset === undefined) return await next();
    services.admitOpen(c);
    return sendAsset(c, asset);
  });
  routes.get("/favicon.ico", (c) => c.body(null, 204));
  routes.get("/", async (c, next) => (await signInByAddress(services, c)) ?? send(c) ?? (await next()));
  return {
    routes,
    page: (c) => {
      const { method, path, raw } = c.req;
      const isPage = ["GET", "HEAD"].includes(method) && !notPages.test(path) && acceptsHtml(raw.headers);
      return isPage ? send(c) : undefined;
    },
  };
}

/**
 * Signs in the developer who opens the address that `jobforge dev` prints: keeps the token as a cookie, and redirects
 * to the address without it, so that it stays in no history.
 */
async function signInByAddress(services: Services, c: Context<Environment>): Promise<Response | undefined> {
  const { localToken } = services.settings;
  const token = c.req.query("token");
  if (localToken === undefined || token === undefined) return undefined;
  await services.admitBy(c, token, localToken);
  c.header("set-cookie", cookieFor(c.req.raw.headers, localToken));
  c.header("cache-control", "no-store");
  return c.redirect("./", 303);
}

function sendAsset(c: Context<Environment>, { type, bytes, encodings }: Asset): Response {
  const accepted = c.req.header("accept-encoding") ?? "";
  const [encoding, body] = [...encodings].find(([name]) => accepts(accepted, name)) ?? [undefined, bytes];
  return c.body(body, 200, {
    "content-type": type,
    "cache-control": immutable,
    ...(encodings.size === 0 ? {} : { vary: "accept-encoding" }),
    ...(encoding === undefined ? {} : { "content-encoding": encoding }),
  });
}

/** Whether a browser navigates. Scripts and programs do not ask for HTML by name. */
function acceptsHtml(headers: Headers): boolean {
  return (headers.get("accept") ?? "").includes("text/html");
}

/** The path as the client wrote it, below the base path. An encoded slash in a name is no folder. */
function pathBelow(url: string, basePath: string): string {
  const { pathname } = new URL(url);
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : pathname;
}
