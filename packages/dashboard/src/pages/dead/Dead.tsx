/** Failed and dead jobs, grouped by error. A group is retried as one. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, apiBase, bodyOf, type Schemas } from "../../api/client.ts";
import type { Change } from "../../api/jobs.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { deadCommands } from "../../lib/commands.ts";
import { count, plural } from "../../lib/format.ts";
import { useKeys } from "../../shell/keys.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs } from "../../ui/Copy.tsx";
import { Link } from "../../ui/Link.tsx";
import { PageHead } from "../../ui/Panel.tsx";
import { Empty, Load } from "../../ui/States.tsx";
import { Time } from "../../ui/Time.tsx";
import { BulkDialog } from "../jobs/BulkDialog.tsx";
import { listKeys } from "../jobs/rows.ts";
import css from "./Dead.module.css";

type DeadGroup = Schemas["DeadGroup"];

const useDead = (tenant: string | undefined) =>
  useQuery({
    queryKey: ["dead", tenant ?? null],
    queryFn: () =>
      bodyOf(
        api.GET("/v1/dead", { params: { query: { limit: 100, ...(tenant && { tenant_id: tenant }) } } }),
      ),
    meta: { live: true },
  });

/** The jobs of one group. */
const filterOfGroup = (group: DeadGroup): Record<string, string | readonly string[]> => ({
  status: ["failed", "dead"],
  type: [group.type],
  error_group: group.error_group,
});

export function Dead(): JSX.Element {
  const tenant = useTenant();
  const may = useMay();
  const groups = useDead(tenant);
  const [acting, setActing] = useState<{ readonly change: Change; readonly group: DeadGroup }>();
  const focused = (): DeadGroup | undefined => {
    const row = document.activeElement?.closest("tr");
    return groups.data?.items.find((group) => keyOf(group) === row?.dataset["id"]);
  };
  useKeys({
    ...listKeys,
    r: () => {
      const group = focused();
      if (group !== undefined && may("reschedule_jobs")) setActing({ change: "reschedule", group });
    },
  });
  const total = groups.data?.items.reduce((sum, { jobs }) => sum + jobs, 0) ?? 0;
  return (
    <>
      <PageHead
        title="Dead letters"
        note={groups.data && `${plural(total, "job")} in ${plural(groups.data.items.length, "group")}`}
      >
        <CopyAs commands={deadCommands(tenant, apiBase)} />
      </PageHead>
      <div class={css["list"]}>
        <Load query={groups}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No job has failed for good">
                <p>A job that used up its attempts, or whose handler refused it, appears here.</p>
              </Empty>
            ) : (
              <Groups groups={items} onAct={(change, group) => setActing({ change, group })} />
            )
          }
        </Load>
      </div>
      {acting !== undefined && (
        <BulkDialog
          change={acting.change}
          filter={filterOfGroup(acting.group)}
          tenant={tenant}
          onClose={() => setActing(undefined)}
          onDone={() => setActing(undefined)}
        />
      )}
    </>
  );
}

const keyOf = (group: DeadGroup): string => `${group.type} ${group.error_group}`;

function Groups({
  groups,
  onAct,
}: {
  groups: readonly DeadGroup[];
  onAct: (change: Change, group: DeadGroup) => void;
}): JSX.Element {
  const may = useMay();
  const seesTenants = useSeesTenants();
  return (
    <table class={css["table"]}>
      <caption class="visually-hidden">Groups of similar errors, the largest first</caption>
      <thead>
        <tr>
          <th scope="col">Jobs</th>
          <th scope="col">Error</th>
          {seesTenants && <th scope="col">Tenants</th>}
          <th scope="col">First</th>
          <th scope="col">Last</th>
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr key={keyOf(group)} data-id={keyOf(group)}>
            <td class={css["jobs"]}>{count(group.jobs)}</td>
            <td class={css["error"]}>
              <Link
                to="/jobs"
                params={{ status: ["failed", "dead"], type: group.type, group: group.error_group }}
                title={group.message ?? ""}
              >
                {group.message ?? "No message"}
              </Link>
              <p>
                {group.type} ·{" "}
                <Link to={`/jobs/${group.newest_job_id}`} params={sampleOf(group)}>
                  newest job
                </Link>
              </p>
            </td>
            {seesTenants && <td class={css["tenants"]}>{tenantsOf(group)}</td>}
            <td class={css["when"]} data-label="First">
              <Time at={group.first_at} />
            </td>
            <td class={css["when"]} data-label="Last">
              <Time at={group.last_at} />
            </td>
            <td class={css["actions"]}>
              {may("reschedule_jobs") && (
                <Button icon="run" onClick={() => onAct("reschedule", group)}>
                  Run again
                </Button>
              )}
              {may("purge_jobs") && (
                <Button
                  kind="quiet"
                  icon="trash"
                  label={`Delete ${plural(group.jobs, "job")}`}
                  title="Delete"
                  onClick={() => onAct("purge", group)}
                />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The newest job belongs to the only tenant. With several tenants, the page of the job finds out. */
function sampleOf({ tenant_ids }: DeadGroup): { of?: string } {
  const [first] = tenant_ids;
  return tenant_ids.length === 1 && first !== undefined ? { of: first } : {};
}

function tenantsOf({ tenant_ids, tenant_labels }: DeadGroup): string {
  const names = tenant_ids.map((tenant_id, index) =>
    tenantName({ tenant_id, label: tenant_labels[index] ?? null }),
  );
  return names.length > 2 ? `${names.slice(0, 2).join(", ")} +${names.length - 2}` : names.join(", ");
}
