/** One schedule: when it runs, and its runs so far. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useSearch } from "wouter-preact/use-browser-location";
import { api, bodyOf } from "../../api/client.ts";
import { duration } from "../../lib/format.ts";
import { rhythmOf } from "../../lib/rhythm.ts";
import { useTenant } from "../../state/route.ts";
import { Json } from "../../ui/Json.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Status, wordFor } from "../../ui/Status.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { last, next, ScheduleActions, stateOf } from "./Schedules.tsx";

export function Schedule({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const type = decodeURIComponent(params["type"] ?? "");
  const key = decodeURIComponent(params["key"] ?? "");
  const chosen = useTenant();
  const tenant = new URLSearchParams(useSearch()).get("of") ?? chosen;
  const at = { path: { type, key }, query: tenant === undefined ? {} : { tenant_id: tenant } };
  const schedule = useQuery({
    queryKey: ["schedule", type, key, tenant ?? null],
    queryFn: () => bodyOf(api.GET("/v1/schedules/{type}/{key}", { params: at })),
    meta: { live: true },
  });
  const runs = useQuery({
    queryKey: ["schedule-runs", type, key, tenant ?? null],
    queryFn: () => bodyOf(api.GET("/v1/schedules/{type}/{key}/runs", { params: at })),
    meta: { live: true },
  });
  return (
    <>
      <PageHead title={`${type} · ${key}`} note={schedule.data && stateOf(schedule.data)}>
        {schedule.data && <ScheduleActions schedule={schedule.data} />}
      </PageHead>
      <Panel title="When it runs">
        <Load query={schedule} rows={2}>
          {(found) => (
            <Facts
              facts={[
                ["Rhythm", rhythmOf(found)],
                ["Next", <span key="next">{next(found)}</span>],
                ["Last", <span key="last">{last(found)}</span>],
                ["If the last run is not over", found.overlap],
                ["Missed runs", found.missed],
                ["Changed", <Time key="changed" at={found.updated_at} />],
                found.last_error !== null && ["Last error", found.last_error],
              ]}
            />
          )}
        </Load>
      </Panel>
      {schedule.data?.payload !== undefined && schedule.data.payload !== null && (
        <Panel title="Payload">
          <Json value={schedule.data.payload as never} what="the payload" />
        </Panel>
      )}
      <Panel title="Runs" note="newest first" flush>
        <Load query={runs} rows={4}>
          {({ items }) => (
            <Table
              caption="Runs of the schedule, newest first"
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Job",
                  cell: ({ id, tenant_id }) => (
                    <Link to={`/jobs/${id}`} params={{ of: tenant_id }}>
                      …{id.slice(-8)}
                    </Link>
                  ),
                },
                { title: "Status", kind: "short", cell: (job) => <Status word={wordFor(job, Date.now())} /> },
                { title: "Created", kind: "short", cell: ({ created_at }) => <Time at={created_at} /> },
                { title: "Ran for", kind: "number", cell: ranFor },
                { title: "Error", cell: ({ last_error }) => last_error ?? "" },
              ]}
            />
          )}
        </Load>
        {runs.data?.items.length === 0 && <p class="inset">It has not run yet.</p>}
      </Panel>
    </>
  );
}

function ranFor(job: { started_at: string | null; finished_at: string | null }): string {
  if (job.started_at === null || job.finished_at === null) return "–";
  return duration(Date.parse(job.finished_at) - Date.parse(job.started_at));
}
