/**
 * The shell of the dashboard's pages. A page may be at any depth below the place where the server is mounted, and the
 * server does not know that place. So each shell has a relative base, which browsers resolve against the address that
 * they see. With it, the addresses of assets and of `v1/…` are right under any prefix.
 */
import { createHash } from "node:crypto";
import { basePlaceholder } from "./folder.ts";

export interface Shell {
  readonly text: string;
  readonly etag: string;
}

/** The deepest page that is served. No page of the dashboard is as deep. */
export const maxDepth = 16;

/**
 * Returns a function that makes the shell for a page. It makes one for each depth, once. `labels`: what `/v1/ui`
 * responds with. A page reads it from the element `meta`, because the policy allows no script in the page.
 */
export function shells(html: string, labels: string): (path: string) => Shell | undefined {
  const meta = `<meta name="jobforge-ui" content="${escapeAttribute(labels)}">`;
  const made = new Map<number, Shell>();
  return (path) => {
    const depth = depthOf(path);
    if (depth > maxDepth) return undefined;
    const known = made.get(depth);
    if (known !== undefined) return known;
    const text = html.replace(basePlaceholder, () => `<base href="${baseOf(depth)}">${meta}`);
    const shell = { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
    made.set(depth, shell);
    return shell;
  };
}

function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

/** How many folders a page is below the mount. `/jobs` is in the mount itself, `/jobs/42` one folder below. */
function depthOf(path: string): number {
  return path.split("/").length - 2;
}

function baseOf(depth: number): string {
  return depth <= 0 ? "./" : "../".repeat(depth);
}

/**
 * Allows files of this server only, and no text as code: a value of a job that ends up in the page stays text. The base
 * is the server's own, see above. Only pages of the named origins may show the dashboard in a frame.
 */
export function contentSecurityPolicy(frameOrigins: readonly string[] = []): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    `frame-ancestors ${frameOrigins.length === 0 ? "'none'" : frameOrigins.join(" ")}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}
