/** One tenant: what it has and may have, what of each type waits and runs, and its pause. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { pause, resume } from "../../api/gates.ts";
import { useMay } from "../../api/session.ts";
import { cents, countOf, duration } from "../../lib/format.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { Button } from "../../ui/Button.tsx";
import { CopyButton } from "../../ui/Copy.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import { type Limit, Limits, useGates } from "../controls/Controls.tsx";
import { PauseDialog } from "../controls/PauseDialog.tsx";
import { TenantCharts } from "../overview/TenantCharts.tsx";
import { EditTenant } from "./EditTenant.tsx";
import { Quota, waitOf } from "./Tenants.tsx";
import { type ListedTenant, useTenantFigures } from "./useTenantFigures.ts";

export function Tenant({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const id = params["id"] ?? "";
  const may = useMay();
  const tenants = useTenantFigures(id);
  const tenant = tenants.data?.items.find(({ tenant_id }) => tenant_id === id);
  return (
    <>
      <PageHead title={tenant === undefined ? "Tenant" : tenantName(tenant)} note={<Id id={id} />}>
        {tenant !== undefined && <Actions tenant={tenant} />}
      </PageHead>
      <Load query={tenants} rows={4}>
        {() =>
          tenant === undefined ? (
            <Empty title="There is no such tenant">
              <p>No job and no setting has this id.</p>
              <Link to="/tenants">See all tenants</Link>
            </Empty>
          ) : (
            <>
              <About tenant={tenant} />
              <Waiting id={id} />
              {may("list_limits") && (
                <Limits
                  title="Its limits"
                  of={(limit) => appliesTo(limit, id)}
                  about={{ scope: "tenant", key: id }}
                />
              )}
              <TenantCharts tenant={id} />
              <Usage id={id} />
            </>
          )
        }
      </Load>
    </>
  );
}

/** A limit of the tenant, of all tenants without their own, or of the tenant's jobs of one type. */
function appliesTo({ scope, key }: Limit, tenant: string): boolean {
  if (scope === "tenant") return key === tenant || key === "*";
  return scope === "type_tenant" && (key.endsWith(`:${tenant}`) || key === "*");
}

function Id({ id }: { id: string }): JSX.Element {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} what="the id" />
    </>
  );
}

function Actions({ tenant }: { tenant: ListedTenant }): JSX.Element {
  const may = useMay();
  const gates = useGates(may("list_gates"));
  const [opened, open] = useState<"pause" | "edit">();
  const id = tenant.tenant_id;
  const place = { scope: "tenant" as const, key: id };
  const gate = gates.data?.items.find(({ scope, key }) => scope === "tenant" && key === id);
  const isPaused = gate !== undefined;
  const resuming = useChange({
    run: () => resume(place),
    ...(gate !== undefined && { undo: () => pause(place, gate) }),
    done: () => `Resumed ${tenantName(tenant)}`,
  });
  const close = (): void => open(undefined);
  return (
    <>
      {may("list_jobs") && (
        <>
          <Link to="/jobs" params={{ tenant: id }}>
            Its jobs
          </Link>
          <Link to="/dead" params={{ tenant: id }}>
            Its dead letters
          </Link>
        </>
      )}
      {may("set_gate") &&
        (isPaused ? (
          <Button icon="run" kind="primary" busy={resuming.isPending} onClick={() => resuming.mutate()}>
            Resume
          </Button>
        ) : (
          <Button icon="pause" onClick={() => open("pause")}>
            Pause
          </Button>
        ))}
      {may("set_tenant") && (
        <Button icon="edit" onClick={() => open("edit")}>
          Edit
        </Button>
      )}
      {opened === "pause" && <PauseDialog scope="tenant" name={id} onClose={close} />}
      {opened === "edit" && <EditTenant tenant={tenant} onClose={close} />}
    </>
  );
}

function About({ tenant }: { tenant: ListedTenant }): JSX.Element {
  return (
    <Panel title="Now, and in this hour and the last">
      <Facts
        facts={[
          ["Due", countOf(tenant.due ?? 0, tenant.exact ?? true)],
          ["Scheduled", countOf(tenant.scheduled ?? 0, tenant.exact ?? true)],
          ["Running", countOf(tenant.running ?? 0)],
          ["Oldest due", <Time key="oldest" at={tenant.oldest_run_at} />],
          ["Runs", countOf(tenant.runs ?? 0)],
          ["Dead", countOf(tenant.dead ?? 0)],
          ["Wait p95", waitOf(tenant.wait_p95_ms)],
          ["Run time", duration(tenant.run_ms ?? 0)],
          ["Cost", cents(tenant.cost_cents ?? 0)],
          ["Weight", countOf(tenant.weight)],
          ["Quota", <Quota key="quota" tenant={tenant} />],
          ["Last enqueued", <Time key="seen" at={tenant.seen_at} none="never" />],
        ]}
      />
    </Panel>
  );
}

type Live = Schemas["LiveCount"];

function Waiting({ id }: { id: string }): JSX.Element {
  const may = useMay();
  const live = useQuery({
    queryKey: ["live-by-type", id],
    queryFn: () => bodyOf(api.GET("/v1/live", { params: { query: { tenant_id: id, by: ["type"] } } })),
    meta: { live: true },
  });
  const cell = ({ type }: Live): JSX.Element =>
    may("list_jobs") ? (
      <Link to="/jobs" params={{ tenant: id, type: type ?? "" }}>
        {type}
      </Link>
    ) : (
      <strong>{type}</strong>
    );
  return (
    <Panel title="Its types" note="what waits and runs now" flush>
      <Load query={live} rows={3}>
        {({ items }) => (
          <Table
            caption="What waits and runs, by type"
            rows={items}
            keyOf={({ type }) => type ?? ""}
            columns={[
              { title: "Type", cell },
              { title: "Due", kind: "number", cell: ({ queued, exact }) => countOf(queued, exact) },
              {
                title: "Scheduled",
                kind: "number",
                cell: ({ scheduled, exact }) => countOf(scheduled, exact),
              },
              { title: "Running", kind: "number", cell: ({ running }) => countOf(running) },
              {
                title: "Oldest due",
                kind: "short",
                cell: ({ oldest_run_at }) => <Time at={oldest_run_at} />,
              },
            ]}
          />
        )}
      </Load>
      {live.data?.items.length === 0 && <p class="inset">Nothing waits or runs.</p>}
    </Panel>
  );
}

function Usage({ id }: { id: string }): JSX.Element {
  const usage = useQuery({
    queryKey: ["usage-of-tenant", id],
    queryFn: () => {
      const from = new Date(Date.now() - 7 * 86_400_000).toISOString();
      const query = { tenant_id: id, by: ["type" as const], bucket: "total" as const, from };
      return bodyOf(api.GET("/v1/usage", { params: { query } }));
    },
  });
  return (
    <Panel title="The last week" note="by type" flush>
      <Load query={usage} rows={3}>
        {({ items }) => (
          <Table
            caption="Usage by type"
            rows={items}
            keyOf={({ type }) => type ?? ""}
            columns={[
              { title: "Type", cell: ({ type }) => <strong>{type}</strong> },
              { title: "Runs", kind: "number", cell: ({ runs }) => countOf(runs) },
              { title: "Failed", kind: "number", cell: ({ failed, lost }) => countOf(failed + lost) },
              { title: "Dead", kind: "number", cell: ({ dead }) => countOf(dead) },
              { title: "Run time", kind: "number", cell: ({ run_ms }) => duration(run_ms) },
              { title: "Wait p95", kind: "number", cell: ({ wait_p95_ms }) => waitOf(wait_p95_ms) },
              { title: "Cost", kind: "number", cell: ({ cost_cents }) => cents(cost_cents) },
            ]}
          />
        )}
      </Load>
      {usage.data?.items.length === 0 && <p class="inset">Nothing has run.</p>}
    </Panel>
  );
}
