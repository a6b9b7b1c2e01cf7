/** The deliveries of an endpoint, newest first. Each is a job. */
import type { JSX } from "preact";
import { useSearch } from "wouter-preact/use-browser-location";
import { type Delivery, type DeliveryStatus, type EndpointName, useDeliveries } from "../../api/webhooks.ts";
import { count } from "../../lib/format.ts";
import { useKeys } from "../../shell/keys.ts";
import { Button } from "../../ui/Button.tsx";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { Status, wordFor } from "../../ui/Status.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import jobs from "../jobs/Jobs.module.css";
import { listKeys } from "../jobs/rows.ts";

const statuses: readonly DeliveryStatus[] = ["queued", "running", "succeeded", "failed", "dead", "canceled"];

export function Deliveries({ name }: { name: EndpointName }): JSX.Element {
  const given = new URLSearchParams(useSearch()).getAll("status");
  const status = statuses.filter((each) => given.includes(each));
  const deliveries = useDeliveries(name, status);
  useKeys(listKeys);
  return (
    <Panel title="Deliveries" note="newest first" flush>
      <Tabs name={name} status={status} />
      <Load query={deliveries} rows={5}>
        {({ pages }) => {
          const rows = pages.flatMap(({ items }) => items);
          if (rows.length === 0) return <None isFiltered={status.length > 0} />;
          return (
            <>
              <Rows deliveries={rows} />
              <p class={jobs["more"]}>
                {deliveries.hasNextPage ? (
                  <Button
                    busy={deliveries.isFetchingNextPage}
                    onClick={() => void deliveries.fetchNextPage()}
                  >
                    Show older ones
                  </Button>
                ) : (
                  `${count(rows.length)} in all`
                )}
              </p>
            </>
          );
        }}
      </Load>
    </Panel>
  );
}

function Tabs({ name, status }: { name: EndpointName; status: readonly DeliveryStatus[] }): JSX.Element {
  const to = `/webhooks/${name.id}`;
  return (
    <nav class={jobs["tabs"]} aria-label="States">
      <Link to={to} params={{ of: name.tenant }} current={status.length === 0}>
        All
      </Link>
      {statuses.map((each) => (
        <Link
          key={each}
          to={to}
          params={{ of: name.tenant, status: each }}
          current={status.length === 1 && status[0] === each}
        >
          <Status word={each} />
        </Link>
      ))}
    </nav>
  );
}

function None({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered) return <Empty title="No delivery has this status" />;
  return (
    <Empty title="There is no delivery yet">
      <p>The next event that the endpoint wants appears here. A test sends one now.</p>
    </Empty>
  );
}

function Rows({ deliveries }: { deliveries: readonly Delivery[] }): JSX.Element {
  return (
    <Table
      caption="Deliveries, newest first"
      rows={deliveries}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Event",
          cell: ({ id, tenant_id, tags }) => (
            <Link to={`/jobs/${id}`} params={{ of: tenant_id }}>
              {tags.join(", ") || id}
            </Link>
          ),
        },
        { title: "Status", kind: "short", cell: (job) => <Status word={wordFor(job, Date.now())} /> },
        { title: "Attempts", kind: "number", cell: ({ attempts }) => count(attempts) },
        { title: "Created", kind: "short", cell: ({ created_at }) => <Time at={created_at} /> },
        { title: "Ended", kind: "short", cell: ({ finished_at }) => <Time at={finished_at} /> },
        { title: "Error", cell: ({ last_error }) => last_error ?? "" },
      ]}
    />
  );
}
