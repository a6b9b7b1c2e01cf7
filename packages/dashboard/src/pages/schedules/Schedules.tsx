/** What runs again and again: when next, how it went, and whether it is on. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { schedulesCommands } from "../../lib/commands.ts";
import { cronWords, rhythmOf } from "../../lib/rhythm.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import jobs from "../jobs/Jobs.module.css";
import { CronPreview } from "./CronPreview.tsx";
import { EditSchedule } from "./EditSchedule.tsx";
import { ManyDialog } from "./ManyDialog.tsx";

export type Schedule = Schemas["Schedule"];

/** What the list can be narrowed to, as parameters of the request. */
const kinds = {
  all: ["All", {}],
  failing: ["Failing", { failing: "true" }],
  overdue: ["Overdue", { overdue: "true" }],
  disabled: ["Disabled", { enabled: "false" }],
} as const;
type Kind = keyof typeof kinds;

const mostShown = 500;

const useSchedules = (tenant: string | undefined, kind: Kind) =>
  useQuery({
    queryKey: ["schedules", tenant ?? null, kind],
    queryFn: () => {
      const query = { limit: mostShown, ...kinds[kind][1], ...(tenant && { tenant_id: tenant }) };
      return bodyOf(api.GET("/v1/schedules", { params: { query } }));
    },
    placeholderData: (before) => before,
    meta: { live: true },
  });

/** The parameters that name one schedule. */
export const named = ({ type, key, tenant_id }: Pick<Schedule, "type" | "key" | "tenant_id">) => ({
  path: { type, key },
  query: { tenant_id },
});

export function setEnabled(schedule: Schedule, isEnabled: boolean): Promise<unknown> {
  const params = named(schedule);
  return isEnabled
    ? bodyOf(api.POST("/v1/schedules/{type}/{key}/enable", { params }))
    : bodyOf(api.POST("/v1/schedules/{type}/{key}/disable", { params }));
}

export function Schedules(): JSX.Element {
  const may = useMay();
  const shown = new URLSearchParams(useSearch()).get("show") ?? "all";
  const kind = (Object.keys(kinds) as Kind[]).find((each) => each === shown) ?? "all";
  const tenant = useTenant();
  const schedules = useSchedules(tenant, kind);
  const [opened, open] = useState<"preview" | "create" | "all">();
  // The tab of disabled ones enables them; the others disable what they show.
  const enables = kind === "disabled";
  const changeable = (schedules.data?.items ?? []).filter(({ enabled }) => enabled !== enables);
  return (
    <>
      <PageHead title="Schedules">
        <CopyAs commands={schedulesCommands(kinds[kind][1], tenant, apiBase)} />
        {may("cron_runs") && (
          <Button icon="schedules" onClick={() => open("preview")}>
            Preview a cron expression
          </Button>
        )}
        {may("set_schedule_enabled") && changeable.length > 1 && (
          <Button icon={enables ? "run" : "pause"} onClick={() => open("all")}>
            {enables ? "Enable" : "Disable"} all shown
          </Button>
        )}
        {may("ensure_schedule") && (
          <Button kind="primary" icon="plus" onClick={() => open("create")}>
            Create a schedule
          </Button>
        )}
      </PageHead>
      <div class={jobs["list"]}>
        <nav class={jobs["tabs"]} aria-label="Which schedules">
          {(Object.keys(kinds) as Kind[]).map((each) => (
            <Link
              key={each}
              to="/schedules"
              params={each === "all" ? {} : { show: each }}
              current={each === kind}
            >
              {kinds[each][0]}
            </Link>
          ))}
        </nav>
        <Load query={schedules}>
          {({ items }) =>
            items.length === 0 && kind !== "all" ? (
              <Empty title={`No schedule is ${kind}`} />
            ) : items.length === 0 ? (
              <Empty title="There is no schedule">
                <p>
                  A handler with a <code>schedule</code> has one, and <code>jobforge schedules add</code>{" "}
                  creates others.
                </p>
              </Empty>
            ) : (
              <ScheduleTable schedules={items} />
            )
          }
        </Load>
        {schedules.data?.items.length === mostShown && (
          <p class="inset">These are the first {mostShown}. Choose a tenant above to see its own.</p>
        )}
      </div>
      {opened === "all" && (
        <ManyDialog schedules={changeable} isEnabling={enables} onClose={() => open(undefined)} />
      )}
      {opened === "preview" && <CronPreview onClose={() => open(undefined)} />}
      {opened === "create" && <EditSchedule onClose={() => open(undefined)} />}
    </>
  );
}

function ScheduleTable({ schedules }: { schedules: readonly Schedule[] }): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
    <Table
      caption="Schedules"
      rows={schedules}
      keyOf={({ id }) => id}
      columns={[
        { title: "Schedule", cell: (schedule) => <ScheduleLink schedule={schedule} /> },
        seesTenants && {
          title: "Tenant",
          cell: ({ tenant_id, tenant_label }) => tenantName({ tenant_id, label: tenant_label }),
        },
        { title: "Runs", cell: (schedule) => <Rhythm schedule={schedule} /> },
        { title: "Next", kind: "short", cell: next },
        { title: "Last", kind: "short", cell: last },
        { title: "State", cell: stateOf },
        { title: "Actions", kind: "actions", cell: (schedule) => <ScheduleActions schedule={schedule} /> },
      ]}
    />
  );
}

function pathOf({ type, key }: Pick<Schedule, "type" | "key">): string {
  return `/schedules/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;
}

function ScheduleLink({ schedule }: { schedule: Schedule }): JSX.Element {
  return (
    <Link to={pathOf(schedule)} params={{ of: schedule.tenant_id }}>
      {schedule.type} · {schedule.key}
    </Link>
  );
}

/** The rhythm in words where there are some, and as it was written. */
export function Rhythm({ schedule }: { schedule: Schedule }): JSX.Element {
  const { cron, timezone } = schedule;
  const words = cron === null ? undefined : cronWords(cron);
  if (cron === null) return <>{rhythmOf(schedule)}</>;
  return (
    <>
      {words}{" "}
      <small>
        <code>{cron}</code> {timezone ?? "UTC"}
      </small>
    </>
  );
}

export function next({ enabled, next_run_at }: Schedule): JSX.Element | string {
  if (!enabled) return "off";
  return next_run_at === null ? "–" : <Time at={next_run_at} />;
}

export function last({ last_run_at, last_status }: Schedule): JSX.Element | string {
  if (last_run_at === null) return "never";
  return (
    <>
      <Time at={last_run_at} /> {last_status}
    </>
  );
}

export function stateOf({ enabled, consecutive_failures, running_since }: Schedule): string {
  if (!enabled) return "Disabled";
  if (consecutive_failures > 0) return `${consecutive_failures} failed in a row`;
  return running_since === null ? "Waiting" : "Running";
}

export function ScheduleActions({ schedule }: { schedule: Schedule }): JSX.Element {
  const may = useMay();
  const { enabled, type, key } = schedule;
  const run = useChange({
    run: () => bodyOf(api.POST("/v1/schedules/{type}/{key}/run", { params: named(schedule) })),
    done: () => `${type} ${key} runs as soon as a worker is free`,
  });
  const toggle = useChange({
    run: () => setEnabled(schedule, !enabled),
    undo: () => setEnabled(schedule, enabled),
    done: () => `${enabled ? "Disabled" : "Enabled"} ${type} ${key}`,
  });
  return (
    <>
      {may("run_schedule") && (
        <Button icon="run" busy={run.isPending} onClick={() => run.mutate()}>
          Run now
        </Button>
      )}{" "}
      {may("set_schedule_enabled") && (
        <Button busy={toggle.isPending} onClick={() => toggle.mutate()}>
          {enabled ? "Disable" : "Enable"}
        </Button>
      )}
    </>
  );
}
