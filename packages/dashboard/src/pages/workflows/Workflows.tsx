/** The workflows, newest first: how each is doing and what it waits for. */
import type { JSX } from "preact";
import { useSearch } from "wouter-preact/use-browser-location";
import { useSeesTenants } from "../../api/session.ts";
import { useWorkflows, type Workflow, type WorkflowFilter, workflowStatuses } from "../../api/workflows.ts";
import { count } from "../../lib/format.ts";
import { mostTenants, tenantName, useAskedTenants } from "../../shell/TenantSwitch.tsx";
import { navigate } from "../../state/route.ts";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { Status } from "../../ui/Status.tsx";
import { Table } from "../../ui/Table.tsx";
import { Time, Took } from "../../ui/Time.tsx";
import jobs from "../jobs/Jobs.module.css";
import css from "./Workflows.module.css";

export function Workflows(): JSX.Element {
  const filter = readFilter(useSearch());
  const { tenants, isCut, failed } = useAskedTenants();
  const workflows = useWorkflows(filter, tenants);
  return (
    <>
      <PageHead title="Workflows" />
      <div class={jobs["list"]}>
        <Tabs filter={filter} />
        <NameField filter={filter} />
        {isCut && (
          <p class="inset">
            These are workflows of {mostTenants} tenants. Choose a tenant above to see its own.
          </p>
        )}
        <Load query={failed ?? workflows}>
          {({ items, isCut: hasMore }) =>
            items.length === 0 ? (
              <None filter={filter} />
            ) : (
              <>
                <Rows workflows={items} />
                <p class={jobs["more"]} role="status">
                  {hasMore
                    ? `The newest ${count(items.length)}. Narrow the filter to see older ones`
                    : `${count(items.length)} in all`}
                </p>
              </>
            )
          }
        </Load>
      </div>
    </>
  );
}

function readFilter(search: string): WorkflowFilter {
  const params = new URLSearchParams(search);
  const given = params.getAll("status");
  return {
    status: workflowStatuses.filter((each) => given.includes(each)),
    name: params.get("name") ?? undefined,
  };
}

function Tabs({ filter }: { filter: WorkflowFilter }): JSX.Element {
  const to = (status: readonly string[]) => ({ status, name: filter.name });
  return (
    <nav class={jobs["tabs"]} aria-label="States">
      <Link to="/workflows" params={to([])} current={filter.status.length === 0}>
        All
      </Link>
      {workflowStatuses.map((status) => (
        <Link
          key={status}
          to="/workflows"
          params={to([status])}
          current={filter.status.length === 1 && filter.status[0] === status}
        >
          <Status word={status} />
        </Link>
      ))}
    </nav>
  );
}

function NameField({ filter }: { filter: WorkflowFilter }): JSX.Element {
  return (
    <form
      class={css["filter"]}
      onSubmit={(event) => {
        event.preventDefault();
        const name = new FormData(event.currentTarget).get("name");
        navigate("/workflows", { status: filter.status, name: typeof name === "string" ? name.trim() : "" });
      }}
    >
      <label for="workflow-name" class="visually-hidden">
        Name of the workflow
      </label>
      <input
        id="workflow-name"
        key={filter.name}
        name="name"
        type="search"
        placeholder="Name, such as order.place, then Enter"
        autocomplete="off"
        spellcheck={false}
        defaultValue={filter.name ?? ""}
      />
    </form>
  );
}

function None({ filter }: { filter: WorkflowFilter }): JSX.Element {
  if (filter.status.length > 0 || filter.name !== undefined)
    return (
      <Empty title="No workflow matches">
        <Link to="/workflows">Show all workflows</Link>
      </Empty>
    );
  return (
    <Empty title="There is no workflow yet">
      <p>
        <code>defineWorkflow</code> describes steps that need each other, and <code>forge.start</code> starts
        them.
      </p>
    </Empty>
  );
}

function Rows({ workflows }: { workflows: readonly Workflow[] }): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
    <Table
      caption="Workflows, newest first"
      rows={workflows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Workflow",
          cell: ({ id, tenant_id, name }) => (
            <Link to={`/workflows/${id}`} params={{ of: tenant_id }}>
              {name}
            </Link>
          ),
        },
        { title: "Status", kind: "short", cell: ({ status }) => <Status word={status} /> },
        { title: "Subject", cell: ({ subject }) => subject ?? "–" },
        seesTenants && {
          title: "Tenant",
          cell: ({ tenant_id, tenant_label }) => tenantName({ tenant_id, label: tenant_label }),
        },
        { title: "Steps", kind: "number", cell: ({ step_count }) => count(step_count) },
        { title: "Started", kind: "short", cell: ({ created_at }) => <Time at={created_at} /> },
        {
          title: "Took",
          kind: "short",
          cell: ({ created_at, finished_at }) => <Took from={created_at} to={finished_at} />,
        },
        { title: "Reason", cell: ({ reason, cancel_reason }) => cancel_reason ?? reason ?? "" },
      ]}
    />
  );
}
