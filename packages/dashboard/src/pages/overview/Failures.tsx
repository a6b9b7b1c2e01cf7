/** What failed for good last, of one tenant. It reads a few rows of an index, however many jobs there are. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { listJobs } from "../../api/jobs.ts";
import { apiFilterOf, noFilter } from "../../lib/filter.ts";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";

const mostShown = 8;

export function Failures({ tenant }: { tenant: string | undefined }): JSX.Element {
  const failures = useQuery({
    queryKey: ["jobs", "failures", tenant ?? null],
    queryFn: () =>
      listJobs(apiFilterOf({ ...noFilter, state: ["failed", "dead"] }), tenant, {
        order: "finished_at",
        limit: mostShown,
      }),
    meta: { live: true },
  });
  const hasRows = (failures.data?.items.length ?? 0) > 0;
  return (
    <Panel
      title="Failed last"
      note="jobs that do not run again by themselves"
      actions={hasRows && <Link to="/dead">All, by error</Link>}
      flush={hasRows}
    >
      <Load query={failures} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <p>No job has failed for good.</p>
          ) : (
            <Table
              caption="Jobs that failed last"
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Job",
                  kind: "short",
                  cell: ({ id, tenant_id, type }) => (
                    <Link to={`/jobs/${id}`} params={{ of: tenant_id }}>
                      {type}
                    </Link>
                  ),
                },
                { title: "Subject", cell: ({ subject }) => subject ?? "–" },
                { title: "Error", cell: ({ last_error }) => last_error ?? "–" },
                { title: "Ended", kind: "short", cell: ({ finished_at }) => <Time at={finished_at} /> },
              ]}
            />
          )
        }
      </Load>
    </Panel>
  );
}
