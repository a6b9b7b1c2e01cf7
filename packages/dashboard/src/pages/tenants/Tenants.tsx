/** The tenants next to each other: whose jobs wait, whose start, and whether shares follow weights. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client.ts";
import { apiBase } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { wholeList } from "../../lib/commands.ts";
import { cents, countOf, duration, percent } from "../../lib/format.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { Bar } from "../../ui/Bar.tsx";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Field } from "../../ui/Field.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { EditTenant } from "./EditTenant.tsx";
import { Fairness } from "./Fairness.tsx";
import { type ListedTenant, useTenantFigures } from "./useTenantFigures.ts";

export type Tenant = Schemas["TenantSettings"];

export function Tenants(): JSX.Element {
  const may = useMay();
  const [search, setSearch] = useState("");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const tenants = useTenantFigures(search, cursors.at(-1));
  const [editing, setEditing] = useState<Tenant>();
  const cursor = tenants.data?.cursor ?? null;
  return (
    <>
      <PageHead title="Tenants" note="Waiting and running now; runs of this hour and the last">
        <CopyAs commands={wholeList("tenants", apiBase)} />
      </PageHead>
      <div class="filters">
        <Field label="Find a tenant by its label or id" id="tenant-search">
          <input
            id="tenant-search"
            type="search"
            value={search}
            onInput={({ currentTarget }) => {
              setSearch(currentTarget.value.trim());
              setCursors([]);
            }}
          />
        </Field>
      </div>
      <Load query={tenants}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={search === "" ? "No tenant has jobs or settings" : "No tenant matches"} />
          ) : (
            <>
              <Fairness tenants={items} />
              <TenantTable tenants={items} onEdit={may("set_tenant") ? setEditing : undefined} />
            </>
          )
        }
      </Load>
      {(cursor !== null || cursors.length > 0) && (
        <p class="filters">
          {cursors.length > 0 && <Button onClick={() => setCursors(cursors.slice(0, -1))}>Before</Button>}
          {cursor !== null && <Button onClick={() => setCursors([...cursors, cursor])}>Next tenants</Button>}
        </p>
      )}
      {editing !== undefined && <EditTenant tenant={editing} onClose={() => setEditing(undefined)} />}
    </>
  );
}

function TenantTable({
  tenants,
  onEdit,
}: {
  tenants: readonly ListedTenant[];
  onEdit: ((tenant: Tenant) => void) | undefined;
}): JSX.Element {
  const weights = tenants.reduce((sum, { weight }) => sum + weight, 0);
  const runs = tenants.reduce((sum, each) => sum + (each.runs ?? 0), 0);
  return (
    <TableList
      caption="Tenants"
      rows={tenants}
      keyOf={({ tenant_id }) => tenant_id}
      columns={[
        {
          title: "Tenant",
          cell: (tenant) => <Link to={`/tenants/${tenant.tenant_id}`}>{tenantName(tenant)}</Link>,
        },
        {
          title: "Share of runs",
          cell: (tenant) => (
            <Bar part={tenant.runs ?? 0} all={runs} label={percent(tenant.runs ?? 0, runs)} />
          ),
        },
        {
          title: "Share of weight",
          cell: ({ weight }) => (
            <Bar part={weight} all={weights} label={`${percent(weight, weights)} · weight ${weight}`} />
          ),
        },
        { title: "Due", kind: "number", cell: ({ due, exact }) => countOf(due ?? 0, exact ?? true) },
        { title: "Running", kind: "number", cell: ({ running }) => countOf(running ?? 0) },
        { title: "Oldest due", kind: "short", cell: ({ oldest_run_at }) => <Time at={oldest_run_at} /> },
        { title: "Quota", cell: (tenant) => <Quota tenant={tenant} /> },
        { title: "Wait p95", kind: "number", cell: ({ wait_p95_ms }) => waitOf(wait_p95_ms) },
        { title: "Cost", kind: "number", cell: ({ cost_cents }) => cents(cost_cents ?? 0) },
        {
          title: "Actions",
          kind: "actions",
          cell: (tenant) =>
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

export function Quota({ tenant }: { tenant: ListedTenant }): JSX.Element {
  const { max_pending, due, scheduled, running } = tenant;
  if (max_pending === null) return <>none</>;
  const pending = (due ?? 0) + (scheduled ?? 0) + (running ?? 0);
  return (
    <Bar part={pending} all={max_pending} warns label={`${countOf(pending)} of ${countOf(max_pending)}`} />
  );
}

export function waitOf(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}
