/** Which tenant the pages show. A caller with one tenant sees its name only. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf } from "../api/client.ts";
import { useMay, useMe } from "../api/session.ts";
import { shortId } from "../lib/format.ts";
import { chooseTenant, useTenant } from "../state/route.ts";
import css from "./TenantSwitch.module.css";

export const useTenants = () => {
  const may = useMay();
  return useQuery({
    queryKey: ["tenants"],
    queryFn: () => bodyOf(api.GET("/v1/tenants", { params: { query: { limit: 1000 } } })),
    enabled: may("list_tenants"),
    staleTime: 60_000,
  });
};

/** The kernel writes an id of ones where a fact belongs to no tenant. */
export function tenantName(tenant: { readonly label?: string | null; readonly tenant_id: string }): string {
  if (tenant.label !== null && tenant.label !== undefined) return tenant.label;
  if (/^[f-]+$/.test(tenant.tenant_id)) return "–";
  return /^[0-]+$/.test(tenant.tenant_id) ? "Global" : shortId(tenant.tenant_id);
}

/** Returns what people call a tenant, by its id. */
export function useTenantNames(): (tenant_id: string) => string {
  const { data } = useTenants();
  const labels = new Map((data?.items ?? []).map((tenant) => [tenant.tenant_id, tenantName(tenant)]));
  return (tenant_id) => labels.get(tenant_id) ?? tenantName({ tenant_id });
}

/** The kernel lists workflows and webhooks tenant by tenant. Of more tenants than this, the user chooses one. */
export const mostTenants = 20;

/** The tenants that such a list asks for: the chosen one, the caller's own, or the first of all. */
export function useAskedTenants(): {
  readonly tenants: readonly (string | undefined)[] | undefined;
  readonly isCut: boolean;
  /** The tenants could not be read, so nothing can be asked for. */
  readonly failed?: { readonly data: undefined; readonly error: Error; readonly refetch: () => unknown };
} {
  const chosen = useTenant();
  const me = useMe();
  const { data, error, refetch } = useTenants();
  if (chosen !== undefined || me.tenant_id !== null) return { tenants: [chosen], isCut: false };
  if (data === undefined)
    return {
      tenants: undefined,
      isCut: false,
      ...(error !== null && { failed: { data: undefined, error, refetch } }),
    };
  const ids = data.items.map(({ tenant_id }) => tenant_id);
  return { tenants: ids.slice(0, mostTenants), isCut: ids.length > mostTenants };
}

export function TenantSwitch(): JSX.Element {
  const me = useMe();
  const tenant = useTenant();
  const { data } = useTenants();
  if (me.tenant_id !== null)
    return <span class={css["own"]}>{tenantName({ label: me.tenant_label, tenant_id: me.tenant_id })}</span>;
  const tenants = data?.items ?? [];
  const isKnown = tenant === undefined || tenants.some(({ tenant_id }) => tenant_id === tenant);
  return (
    <label class={css["switch"]}>
      <span class="visually-hidden">Tenant</span>
      <select
        value={tenant ?? ""}
        onChange={({ currentTarget }) =>
          chooseTenant(currentTarget.value === "" ? undefined : currentTarget.value)
        }
      >
        <option value="">All tenants</option>
        {!isKnown && <option value={tenant}>{shortId(tenant ?? "")}</option>}
        {tenants.map((each) => (
          <option key={each.tenant_id} value={each.tenant_id}>
            {tenantName(each)}
          </option>
        ))}
      </select>
    </label>
  );
}
