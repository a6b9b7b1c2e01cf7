/** One schedule: when it runs, and its runs so far. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { api, apiBase, bodyOf } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { scheduleCommands } from "../../lib/commands.ts";
import { duration } from "../../lib/format.ts";
import { field, parseExact, writeExact } from "../../lib/json.ts";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Json } from "../../ui/Json.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Status, wordFor } from "../../ui/Status.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { EditSchedule } from "./EditSchedule.tsx";
import { NextRuns } from "./NextRuns.tsx";
import { type Schedule as Found, last, next, Rhythm, ScheduleActions, stateOf } from "./Schedules.tsx";

export function Schedule({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const may = useMay();
  const [isEditing, setEditing] = useState(false);
  const type = decodeURIComponent(params["type"] ?? "");
  const key = decodeURIComponent(params["key"] ?? "");
  const chosen = useTenant();
  const tenant = new URLSearchParams(useSearch()).get("of") ?? chosen;
  const at = { path: { type, key }, query: tenant === undefined ? {} : { tenant_id: tenant } };
  const schedule = useQuery({
    queryKey: ["schedule", type, key, tenant ?? null],
    queryFn: async () => {
      const text = await bodyOf(api.GET("/v1/schedules/{type}/{key}", { params: at, parseAs: "text" }));
      return { ...(JSON.parse(text) as Found), exact: field(parseExact(text), "payload") ?? null };
    },
    meta: { live: true },
  });
  const runs = useQuery({
    queryKey: ["schedule-runs", type, key, tenant ?? null],
    queryFn: () => bodyOf(api.GET("/v1/schedules/{type}/{key}/runs", { params: at })),
    meta: { live: true },
  });
  const coming = useQuery({
    queryKey: ["schedule-next", type, key, tenant ?? null],
    queryFn: () => bodyOf(api.GET("/v1/schedules/{type}/{key}/next", { params: at })),
    meta: { live: true },
  });
  return (
    <>
      <PageHead title={`${type} · ${key}`} note={schedule.data && stateOf(schedule.data)}>
        {schedule.data && <ScheduleActions schedule={schedule.data} />}
        {schedule.data && may("update_schedule") && schedule.data.kind !== "dynamic" && (
          <Button icon="edit" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
        {schedule.data && <CopyAs commands={scheduleCommands(type, key, schedule.data.tenant_id, apiBase)} />}
      </PageHead>
      <Panel title="When it runs">
        <Load query={schedule} rows={2}>
          {(found) => (
            <Facts
              facts={[
                ["Rhythm", <Rhythm key="rhythm" schedule={found} />],
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
      {schedule.data !== undefined && schedule.data.exact !== null && (
        <Panel title="Payload">
          <Json value={schedule.data.exact} what="the payload" />
        </Panel>
      )}
      {isEditing && schedule.data && (
        <EditSchedule
          schedule={schedule.data}
          payload={writeExact(schedule.data.exact, 2)}
          onClose={() => setEditing(false)}
        />
      )}
      <Panel title="Next runs" flush>
        <Load query={coming} rows={4}>
          {({ items }) =>
            items.length === 0 ? (
              <p class="inset">None: the schedule is disabled.</p>
            ) : (
              <NextRuns times={items} zone={schedule.data?.timezone ?? "UTC"} />
            )
          }
        </Load>
      </Panel>
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
