/** Who changed what, newest first. */
import { useInfiniteQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, bodyOf, type Schemas } from "../../api/client.ts";
import { useSeesTenants } from "../../api/session.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { Field } from "../../ui/Field.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, ProblemNote, Skeleton } from "../../ui/States.tsx";
import { TableList } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";

type Entry = Schemas["AuditEntry"];

export function Audit(): JSX.Element {
  const tenant = useTenant();
  const [action, setAction] = useState("");
  const list = useInfiniteQuery({
    queryKey: ["audit", tenant ?? null, action],
    queryFn: ({ pageParam }) => {
      const query = {
        limit: 50,
        ...(tenant && { tenant_id: tenant }),
        ...(action && { action }),
        ...(pageParam && { cursor: pageParam }),
      };
      return bodyOf(api.GET("/v1/audit", { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    placeholderData: (before) => before,
  });
  const entries = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <>
      <PageHead title="Audit" note="Who changed what, newest first" />
      <Field label="Action" id="audit-action" hint="The exact name, such as job.cancel. Empty: all actions.">
        <input
          id="audit-action"
          value={action}
          onChange={({ currentTarget }) => setAction(currentTarget.value.trim())}
        />
      </Field>
      {list.error !== null && <ProblemNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined && list.error === null && <Skeleton />}
      {list.data !== undefined && entries.length === 0 && <Empty title="There is no entry" />}
      {entries.length > 0 && <Entries entries={entries} />}
      {list.hasNextPage && (
        <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Load more
        </Button>
      )}
    </>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
    <TableList
      caption="Entries of the audit log"
      rows={entries}
      keyOf={({ id }) => String(id)}
      columns={[
        { title: "Action", cell: (entry) => <strong>{entry.action}</strong> },
        { title: "On", cell: target },
        seesTenants && {
          title: "Tenant",
          cell: ({ tenant_id, tenant_label }) => tenantName({ tenant_id, label: tenant_label }),
        },
        { title: "By", cell: ({ actor }) => actor },
        { title: "What", cell: details },
        { title: "When", kind: "short", cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}

function target({ entity_type, entity_id, tenant_id }: Entry): JSX.Element | string {
  if (entity_type === "job")
    return (
      <Link to={`/jobs/${entity_id}`} params={{ of: tenant_id }}>
        job …{entity_id.slice(-8)}
      </Link>
    );
  if (entity_type === "type")
    return <Link to={`/types/${encodeURIComponent(entity_id)}`}>type {entity_id}</Link>;
  return `${entity_type} ${entity_id}`;
}

/** The message, and what was set, as it was written. */
function details({ message, meta }: Entry): JSX.Element | string {
  const text = meta === null || meta === undefined ? "" : JSON.stringify(meta, null, 1);
  if (text === "" || text === "{}") return message ?? "";
  return (
    <details>
      <summary>{message ?? "Details"}</summary>
      <pre>{text}</pre>
    </details>
  );
}
