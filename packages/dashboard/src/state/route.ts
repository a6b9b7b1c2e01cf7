/** Addresses inside the dashboard. The chosen tenant is part of every address, so that a link shows the same. */
import { navigate as go, useSearch } from "wouter-preact/use-browser-location";

/** The path below which the dashboard is mounted, without the last slash. The server writes it into the page. */
export const base: string = new URL(document.baseURI).pathname.replace(/\/$/, "");

export type Params = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A path inside the dashboard with parameters. Keeps the tenant, unless the parameters name one. */
export function pathTo(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  const tenant = "tenant" in params ? params["tenant"] : tenantOf(location.search);
  const embed = isEmbedded(location.search) ? "1" : undefined;
  for (const [name, value] of Object.entries({ ...params, tenant, embed })) {
    if (value === undefined || value === "") continue;
    for (const each of typeof value === "string" ? [value] : value) query.append(name, each);
  }
  const text = query.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return text === "" ? path : `${path}?${text}`;
}

export function hrefTo(path: string, params: Params = {}): string {
  return base + pathTo(path, params);
}

export function navigate(path: string, params: Params = {}, options: { replace?: boolean } = {}): void {
  go(hrefTo(path, params), options);
}

function tenantOf(search: string): string | undefined {
  return new URLSearchParams(search).get("tenant") ?? undefined;
}

/** Whether the page is shown inside another one, without a frame of its own. Links keep it. */
export function isEmbedded(search: string): boolean {
  return new URLSearchParams(search).get("embed") === "1";
}

/** The tenant that the address names, if any. */
export function useTenant(): string | undefined {
  return tenantOf(useSearch());
}

/** Shows the same page for another tenant, or for all. */
export function chooseTenant(tenant: string | undefined): void {
  const path = location.pathname.slice(base.length) || "/";
  const isOfOneThing = /^\/(jobs|workflows|schedules|webhooks|tenants)\/./.test(path);
  navigate(isOfOneThing ? path.replace(/^(\/\w+)\/.*/, "$1") : path, { tenant });
}
