/** What runs again and again: when next, how it went, and whether it is on. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { rhythmOf } from "../../lib/rhythm.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";

export type Schedule = Schemas["Schedule"];

export const useSchedules = (tenant: string | undefined, isAllowed = true) =>
  useQuery({
    queryKey: ["schedules", tenant ?? null],
    queryFn: () =>
      bodyOf(
        api.GET("/v1/schedules", { params: { query: { limit: 500, ...(tenant && { tenant_id: tenant }) } } }),
      ),
    enabled: isAllowed,
    meta: { live: true },
  });

/** The parameters that name one schedule. */
export const named = ({ type, key, tenant_id }: Pick<Schedule, "type" | "key" | "tenant_id">) => ({
  path: { type, key },
  query: { tenant_id },
});

export function Schedules(): JSX.Element {
  const schedules = useSchedules(useTenant());
  return (
    <>
      <PageHead title="Schedules" />
      <Load query={schedules}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There is no schedule">
              <p>
                A handler with a <code>schedule</code> has one, and <code>jobforge schedules ensure</code>{" "}
                creates others.
              </p>
            </Empty>
          ) : (
            <ScheduleTable schedules={items} />
          )
        }
      </Load>
    </>
  );
}

function ScheduleTable({ schedules }: { schedules: readonly Schedule[] }): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
    <TableList
      caption="Schedules"
      rows={schedules}
      keyOf={({ id }) => id}
      columns={[
        { title: "Schedule", cell: (schedule) => <ScheduleLink schedule={schedule} /> },
        seesTenants && {
          title: "Tenant",
          cell: ({ tenant_id, tenant_label }) => tenantName({ tenant_id, label: tenant_label }),
        },
        { title: "Runs", cell: rhythmOf },
        { title: "Next", kind: "short", cell: next },
        { title: "Last", kind: "short", cell: last },
        { title: "State", cell: stateOf },
        { title: "Actions", kind: "actions", cell: (schedule) => <ScheduleActions schedule={schedule} /> },
      ]}
    />
  );
}

export function pathOf({ type, key }: Pick<Schedule, "type" | "key">): string {
  return `/schedules/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;
}

function ScheduleLink({ schedule }: { schedule: Schedule }): JSX.Element {
  return (
    <Link to={pathOf(schedule)} params={{ of: schedule.tenant_id }}>
      {schedule.type} · {schedule.key}
    </Link>
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
    run: () =>
      enabled
        ? bodyOf(api.POST("/v1/schedules/{type}/{key}/disable", { params: named(schedule) }))
        : bodyOf(api.POST("/v1/schedules/{type}/{key}/enable", { params: named(schedule) })),
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
