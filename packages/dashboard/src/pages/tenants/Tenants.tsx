/** The tenants next to each other: whose jobs wait, whose start, and whether shares follow weights. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { cents, countOf, duration, percent } from "../../lib/format.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { Bar } from "../../ui/Bar.tsx";
import { Button } from "../../ui/Button.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { EditTenant } from "./EditTenant.tsx";

export type Tenant = Schemas["TenantSettings"];
type Usage = Schemas["Usage"];
type Live = Schemas["LiveCount"];

interface Row {
  readonly tenant: Tenant;
  readonly live: Live | undefined;
  readonly usage: Usage | undefined;
}

export function Tenants(): JSX.Element {
  const may = useMay();
  const tenants = useTenants();
  const [editing, setEditing] = useState<Tenant>();
  const live = useQuery({
    queryKey: ["live-by-tenant"],
    queryFn: () => bodyOf(api.GET("/v1/live", { params: { query: { by: ["tenant"] } } })),
    meta: { live: true },
  });
  const usage = useQuery({
    queryKey: ["usage-by-tenant"],
    queryFn: () => {
      const from = new Date(Date.now() - 24 * 3_600_000).toISOString();
      return bodyOf(api.GET("/v1/usage", { params: { query: { by: ["tenant"], bucket: "total", from } } }));
    },
    refetchInterval: 60_000,
  });
  return (
    <>
      <PageHead title="Tenants" note="Shares of the last day against weights" />
      <Load query={tenants}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No tenant has jobs or settings" />
          ) : (
            <TenantTable
              rows={items.map((tenant) => ({
                tenant,
                live: live.data?.items.find(({ tenant_id }) => tenant_id === tenant.tenant_id),
                usage: usage.data?.items.find(({ tenant_id }) => tenant_id === tenant.tenant_id),
              }))}
              onEdit={may("set_tenant") ? setEditing : undefined}
            />
          )
        }
      </Load>
      {editing !== undefined && <EditTenant tenant={editing} onClose={() => setEditing(undefined)} />}
    </>
  );
}

function TenantTable({
  rows,
  onEdit,
}: {
  rows: readonly Row[];
  onEdit: ((tenant: Tenant) => void) | undefined;
}): JSX.Element {
  const may = useMay();
  const weights = rows.reduce((sum, { tenant }) => sum + tenant.weight, 0);
  const runs = rows.reduce((sum, { usage }) => sum + (usage?.runs ?? 0), 0);
  return (
    <TableList
      caption="Tenants"
      rows={rows}
      keyOf={({ tenant }) => tenant.tenant_id}
      columns={[
        {
          title: "Tenant",
          cell: ({ tenant }) =>
            may("list_jobs") ? (
              <Link to="/jobs" params={{ tenant: tenant.tenant_id }}>
                {tenantName(tenant)}
              </Link>
            ) : (
              <strong>{tenantName(tenant)}</strong>
            ),
        },
        {
          title: "Share of runs",
          cell: ({ usage }) => (
            <Bar part={usage?.runs ?? 0} all={runs} label={percent(usage?.runs ?? 0, runs)} />
          ),
        },
        {
          title: "Share of weight",
          cell: ({ tenant }) => (
            <Bar
              part={tenant.weight}
              all={weights}
              label={`${percent(tenant.weight, weights)} · weight ${tenant.weight}`}
            />
          ),
        },
        { title: "Due", kind: "number", cell: ({ live }) => countOf(live?.queued ?? 0, live?.exact ?? true) },
        { title: "Running", kind: "number", cell: ({ live }) => countOf(live?.running ?? 0) },
        { title: "Quota", cell: quota },
        { title: "Wait p95", kind: "number", cell: ({ usage }) => waitOf(usage) },
        { title: "Cost", kind: "number", cell: ({ usage }) => cents(usage?.cost_cents ?? 0) },
        {
          title: "Actions",
          kind: "actions",
          cell: ({ tenant }) =>
            onEdit !== undefined && (
              <Button icon="edit" onClick={() => onEdit(tenant)}>
                Edit
              </Button>
            ),
        },
      ]}
    />
  );
}

function quota({ tenant: { max_pending }, live }: Row): JSX.Element | string {
  if (max_pending === null) return "none";
  const pending = (live?.queued ?? 0) + (live?.scheduled ?? 0);
  return (
    <Bar part={pending} all={max_pending} warns label={`${countOf(pending)} of ${countOf(max_pending)}`} />
  );
}

function waitOf(usage: Usage | undefined): string {
  const wait = usage?.wait_p95_ms ?? null;
  return wait === null ? "–" : duration(wait);
}
