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

export function tenantName(tenant: { readonly label?: string | null; readonly tenant_id: string }): string {
  if (tenant.label !== null && tenant.label !== undefined) return tenant.label;
  return /^[0-]+$/.test(tenant.tenant_id) ? "Global" : shortId(tenant.tenant_id);
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
