/** Where the server is mounted, behind a proxy that passes the whole path on. */

/** The path below the base path. A path outside of it stays as it is: probes call the server without the proxy. */
export function stripBasePath(path: string, basePath: string): string {
  if (basePath === "" || (path !== basePath && !path.startsWith(`${basePath}/`))) return path;
  return path.slice(basePath.length) || "/";
}

/**
 * The relative address of the mount with its slash, for a request without it. Without the slash, browsers would resolve
 * all addresses of the page one folder too high. Undefined if the address is right.
 */
export function slashAddress(url: string, basePath: string): string | undefined {
  const { pathname, search } = new URL(url);
  if (basePath === "" || pathname !== basePath) return undefined;
  return `${basePath.slice(basePath.lastIndexOf("/") + 1)}/${search}`;
}
