/** Who is notified of the ends of jobs and of the application's events, and whether that works. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { type Endpoint, useEndpoints } from "../../api/webhooks.ts";
import { useKeys } from "../../shell/keys.ts";
import { mostTenants, useAskedTenants, useTenantNames } from "../../shell/TenantSwitch.tsx";
import { Button } from "../../ui/Button.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { Status } from "../../ui/Status.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Since, Time } from "../../ui/Time.tsx";
import { listKeys } from "../jobs/rows.ts";
import { AddDialog } from "./AddDialog.tsx";

export function Webhooks(): JSX.Element {
  const may = useMay();
  const { tenants, isCut, failed } = useAskedTenants();
  const endpoints = useEndpoints(tenants);
  const [isAdding, setAdding] = useState(false);
  useKeys(listKeys);
  return (
    <>
      <PageHead title="Webhooks" note={isCut && `Of ${mostTenants} tenants. Choose one to see its own`}>
        {may("set_webhook_endpoint") && (
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            Add an endpoint
          </Button>
        )}
      </PageHead>
      <Load query={failed ?? endpoints}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="There is no endpoint">
              <p>An endpoint gets a signed request when a job ends or the application sends an event.</p>
            </Empty>
          ) : (
            <EndpointTable endpoints={items} />
          )
        }
      </Load>
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function EndpointTable({ endpoints }: { endpoints: readonly Endpoint[] }): JSX.Element {
  const seesTenants = useSeesTenants();
  const tenantOf = useTenantNames();
  return (
    <TableList
      caption="Endpoints, the oldest first"
      rows={endpoints}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Endpoint",
          cell: ({ id, tenant_id, url, description }) => (
            <>
              <Link to={`/webhooks/${id}`} params={{ of: tenant_id }}>
                {url}
              </Link>
              {description && <p>{description}</p>}
            </>
          ),
        },
        seesTenants && {
          title: "Tenant",
          cell: ({ tenant_id }) => tenantOf(tenant_id),
        },
        { title: "Events", cell: ({ events }) => events.join(", ") },
        { title: "State", cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
        {
          title: "Failing since",
          kind: "short",
          cell: ({ failing_since }) => <Time at={failing_since} />,
        },
        { title: "Held until", kind: "short", cell: ({ held_until }) => <Time at={held_until} /> },
      ]}
    />
  );
}

/** One word, and the reason if deliveries do not go out. */
export function EndpointState({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const { state, reason, failing_since } = endpoint;
  if (state === "disabled")
    return (
      <>
        <Status word="blocked" label="disabled" />
        {reason && <p>{reason}</p>}
      </>
    );
  if (failing_since === null) return <Status word="succeeded" label="enabled" />;
  return (
    <>
      <Status word="failed" label="failing" /> for <Since at={failing_since} />
    </>
  );
}
