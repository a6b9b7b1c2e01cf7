/** What was run, for how long, and what it cost, by tenant or type. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import { useSeesTenants } from "../../api/session.ts";
import { usageCommands } from "../../lib/commands.ts";
import { csvOf } from "../../lib/csv.ts";
import { cents, countOf, duration, percent } from "../../lib/format.ts";
import { localZone } from "../../lib/time.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { navigate, type Params, useTenant } from "../../state/route.ts";
import { zone } from "../../state/settings.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Field } from "../../ui/Field.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { save } from "../../ui/save.ts";
import { TableList } from "../../ui/Table.tsx";

type Row = Schemas["Usage"];
const bys = ["tenant", "type", "time"] as const;
type By = (typeof bys)[number];

const spans = { "1": "The last day", "7": "The last week", "30": "The last 30 days" } as const;
type Days = keyof typeof spans;

function chosen<T extends string>(given: string | null, allowed: readonly T[]): T | undefined {
  return allowed.find((each) => each === given);
}

export function Usage(): JSX.Element {
  const tenant = useTenant();
  const seesTenants = useSeesTenants();
  const params = new URLSearchParams(useSearch());
  const days = chosen(params.get("days"), Object.keys(spans) as Days[]) ?? "1";
  const by = chosen(params.get("by"), seesTenants ? bys : bys.slice(1)) ?? (seesTenants ? "tenant" : "type");
  // The address has both, so that a link shows the same numbers.
  const show = (next: Params): void => navigate("/usage", { days, by, ...next });
  const timezone = zone.value === "utc" ? "UTC" : localZone();
  const from = useMemo(() => new Date(Date.now() - Number(days) * 86_400_000).toISOString(), [days]);
  const usage = useQuery({
    queryKey: ["usage", tenant ?? null, by, days, timezone],
    queryFn: () => {
      const split =
        by === "time"
          ? { bucket: "day" as const, by: ["none" as const], timezone }
          : { bucket: "total" as const, by: [by] };
      const query = { ...split, from, ...(tenant && { tenant_id: tenant }) };
      return bodyOf(api.GET("/v1/usage", { params: { query } }));
    },
    // Rows of another split have other names.
    placeholderData: (before, query) => (query?.queryKey[2] === by ? before : undefined),
    // No event tells that runs were added up. The first ones are expected soon.
    refetchInterval: ({ state }) => (state.data?.items.length === 0 ? 5000 : 60_000),
  });
  return (
    <>
      <PageHead title="Usage" note={by === "time" ? `${spans[days]}, days of ${timezone}` : spans[days]}>
        <CopyAs commands={usageCommands({ days, by, timezone, tenant }, apiBase)} />
        <Button
          icon="save"
          blocked={usage.data === undefined ? "The numbers are being read" : undefined}
          onClick={() => save("usage.csv", "text/csv", csvOf(columns, usage.data?.items ?? []))}
        >
          Save as CSV
        </Button>
      </PageHead>
      <div class="filters">
        <Field label="Time" id="usage-span">
          <select
            id="usage-span"
            value={days}
            onChange={({ currentTarget }) => show({ days: currentTarget.value })}
          >
            {Object.entries(spans).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Split by" id="usage-by">
          <select
            id="usage-by"
            value={by}
            onChange={({ currentTarget }) => show({ by: currentTarget.value })}
          >
            {seesTenants && <option value="tenant">Tenant</option>}
            <option value="type">Type</option>
            <option value="time">Day</option>
          </select>
        </Field>
      </div>
      <Load query={usage}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No run ended in this time">
              <p>Runs are added up every few seconds, so the first ones appear here a little later.</p>
            </Empty>
          ) : (
            <Rows rows={items} by={by} />
          )
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
      keyOf={({ tenant_id, type, start_at }) => `${tenant_id} ${type} ${start_at}`}
      columns={[
        { title: titles[by], cell: (row) => <strong>{by === "time" ? dayOf(row) : nameOf(row)}</strong> },
        { title: "Runs", kind: "number", cell: ({ runs }) => countOf(runs) },
        { title: "Failed", kind: "number", cell: ({ failed, lost }) => countOf(failed + lost) },
        { title: "Errors", kind: "number", cell: ({ failed, lost, runs }) => percent(failed + lost, runs) },
        { title: "Dead", kind: "number", cell: ({ dead }) => countOf(dead) },
        { title: "Run time", kind: "number", cell: ({ run_ms }) => duration(run_ms) },
        { title: "Run p95", kind: "number", cell: ({ run_p95_ms }) => spanOf(run_p95_ms) },
        { title: "Wait p95", kind: "number", cell: ({ wait_p95_ms }) => spanOf(wait_p95_ms) },
        { title: "Retries", kind: "number", cell: ({ retries }) => countOf(retries) },
        { title: "Cost", kind: "number", cell: ({ cost_cents }) => cents(cost_cents) },
      ]}
    />
  );
}

const titles: Readonly<Record<By, string>> = { tenant: "Tenant", type: "Type", time: "Day" };

/** The columns of the file. Times are in milliseconds, and costs in cents, as the API has them. */
const columns = [
  "start_at",
  "tenant_id",
  "tenant_label",
  "type",
  "runs",
  "succeeded",
  "failed",
  "lost",
  "retries",
  "dead",
  "run_ms",
  "run_p95_ms",
  "wait_p95_ms",
  "cost_cents",
] as const;

/** The day in the zone that it was asked for. */
function dayOf({ start_at }: Row): string {
  const timeZone = zone.value === "utc" ? "UTC" : localZone();
  return new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(new Date(start_at));
}

function nameOf({ tenant_id, tenant_label, type }: Row): string {
  return tenant_id === null ? (type ?? "All") : tenantName({ tenant_id, label: tenant_label });
}

const spanOf = (ms: number | null): string => (ms === null ? "–" : duration(ms));
