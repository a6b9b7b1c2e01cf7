/** What jobs of one type failed with for good. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf } from "../../api/client.ts";
import { count } from "../../lib/format.ts";
import { useTenant } from "../../state/route.ts";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";

const mostShown = 10;

export function Errors({ type }: { type: string }): JSX.Element {
  const tenant = useTenant();
  const groups = useQuery({
    queryKey: ["dead", tenant ?? null, type],
    queryFn: () => {
      const query = { type: [type], limit: mostShown, ...(tenant && { tenant_id: tenant }) };
      return bodyOf(api.GET("/v1/dead", { params: { query } }));
    },
    meta: { live: true },
  });
  return (
    <Panel title="Errors" note="of jobs that failed for good" flush>
      <Load query={groups} rows={2}>
        {({ items }) => (
          <Table
            caption="Errors of the type, the most frequent first"
            rows={items}
            keyOf={({ error_group }) => error_group}
            columns={[
              {
                title: "Error",
                cell: ({ message, error_group }) => (
                  <Link to="/jobs" params={{ status: ["failed", "dead"], type, group: error_group }}>
                    {message ?? "No message"}
                  </Link>
                ),
              },
              { title: "Jobs", kind: "number", cell: ({ jobs }) => count(jobs) },
              { title: "First", kind: "short", cell: ({ first_at }) => <Time at={first_at} /> },
              { title: "Last", kind: "short", cell: ({ last_at }) => <Time at={last_at} /> },
            ]}
          />
        )}
      </Load>
      {groups.data?.items.length === 0 && <p class="inset">No job of it has failed for good.</p>}
    </Panel>
  );
}
