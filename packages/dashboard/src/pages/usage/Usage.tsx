/** What was run, for how long, and what it cost, by tenant or type. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { useSeesTenants } from "../../api/session.ts";
import { cents, countOf, duration, percent } from "../../lib/format.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { Field } from "../../ui/Field.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";

type Row = Schemas["Usage"];
type By = "tenant" | "type";

const spans = { "1": "The last day", "7": "The last week", "30": "The last 30 days" } as const;

export function Usage(): JSX.Element {
  const tenant = useTenant();
  const seesTenants = useSeesTenants();
  const [days, setDays] = useState<keyof typeof spans>("1");
  const [by, setBy] = useState<By>(seesTenants ? "tenant" : "type");
  const usage = useQuery({
    queryKey: ["usage", tenant ?? null, by, days],
    queryFn: () => {
      const from = new Date(Date.now() - Number(days) * 86_400_000).toISOString();
      const query = { by: [by], bucket: "total" as const, from, ...(tenant && { tenant_id: tenant }) };
      return bodyOf(api.GET("/v1/usage", { params: { query } }));
    },
    placeholderData: (before) => before,
  });
  return (
    <>
      <PageHead title="Usage" note={spans[days]} />
      <Field label="Time" id="usage-span">
        <select
          id="usage-span"
          value={days}
          onChange={({ currentTarget }) => setDays(currentTarget.value as keyof typeof spans)}
        >
          {Object.entries(spans).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      {seesTenants && (
        <Field label="Split by" id="usage-by">
          <select id="usage-by" value={by} onChange={({ currentTarget }) => setBy(currentTarget.value as By)}>
            <option value="tenant">Tenant</option>
            <option value="type">Type</option>
          </select>
        </Field>
      )}
      <Load query={usage}>
        {({ items }) =>
          items.length === 0 ? <Empty title="No run ended in this time" /> : <Rows rows={items} by={by} />
        }
      </Load>
    </>
  );
}

function Rows({ rows, by }: { rows: readonly Row[]; by: By }): JSX.Element {
  return (
    <TableList
      caption={`Usage by ${by}`}
      rows={rows}
      keyOf={({ tenant_id, type }) => `${tenant_id} ${type}`}
      columns={[
        { title: by === "tenant" ? "Tenant" : "Type", cell: (row) => <strong>{nameOf(row)}</strong> },
        { title: "Runs", kind: "number", cell: ({ runs }) => countOf(runs) },
        { title: "Failed", kind: "number", cell: ({ failed, lost }) => countOf(failed + lost) },
        { title: "Errors", kind: "number", cell: ({ failed, lost, runs }) => percent(failed + lost, runs) },
        { title: "Dead", kind: "number", cell: ({ dead }) => countOf(dead) },
        { title: "Run time", kind: "number", cell: ({ run_ms }) => duration(run_ms) },
        { title: "Run p95", kind: "number", cell: ({ run_p95_ms }) => spanOf(run_p95_ms) },
        { title: "Wait p95", kind: "number", cell: ({ wait_p95_ms }) => spanOf(wait_p95_ms) },
        { title: "Cost", kind: "number", cell: ({ cost_cents }) => cents(cost_cents) },
      ]}
    />
  );
}

function nameOf({ tenant_id, tenant_label, type }: Row): string {
  return tenant_id === null ? (type ?? "All") : tenantName({ tenant_id, label: tenant_label });
}

const spanOf = (ms: number | null): string => (ms === null ? "–" : duration(ms));
