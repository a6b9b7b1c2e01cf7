/** The blast radius of a change: how many jobs, of whom, and from when. */
import type { JSX } from "preact";
import type { JobCount } from "../../api/bulk.ts";
import { count, plural } from "../../lib/format.ts";
import { useTenantNames } from "../../shell/TenantSwitch.tsx";
import { Time } from "../../ui/Time.tsx";
import css from "./BulkDialog.module.css";

const earliest = (times: readonly string[]): string | null => [...times].sort()[0] ?? null;
const latest = (times: readonly string[]): string | null => [...times].sort().at(-1) ?? null;

/** What is changed, by tenant and type. */
export function Radius({ rows, total }: { rows: readonly JobCount[]; total: number }): JSX.Element {
  const tenantOf = useTenantNames();
  const shown = rows.slice(0, 8);
  const tenants = new Set(rows.map(({ tenant_id }) => tenant_id)).size;
  const types = new Set(rows.map(({ type }) => type)).size;
  return (
    <div class={css["radius"]}>
      <p>
        <b>
          {rows.every(({ exact }) => exact) ? "" : "At least "}
          {plural(total, "job")}
        </b>{" "}
        of {plural(tenants, "tenant")} and {plural(types, "type")}, created{" "}
        <Time at={earliest(rows.map(({ oldest_at }) => oldest_at))} />
        {total > 1 && (
          <>
            {" to "}
            <Time at={latest(rows.map(({ newest_at }) => newest_at))} />
          </>
        )}
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">Status</th>
            <th scope="col">Tenant</th>
            <th scope="col">Jobs</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ tenant_id, type, status, jobs }) => (
            <tr key={`${tenant_id} ${type} ${status}`}>
              <td>{type}</td>
              <td>{status}</td>
              <td>{tenantOf(tenant_id)}</td>
              <td>{count(jobs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && <p>… and {plural(rows.length - shown.length, "more group")}</p>}
    </div>
  );
}
