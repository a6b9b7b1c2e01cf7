/** What can be done with the selected rows. It stays at the bottom while rows are selected. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Change } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { type ApiFilter, apiFilterOf, type JobFilter } from "../../lib/filter.ts";
import { plural } from "../../lib/format.ts";
import { Button } from "../../ui/Button.tsx";
import css from "./BulkBar.module.css";
import { BulkDialog } from "./BulkDialog.tsx";
import type { Selection } from "./selection.ts";

export function BulkBar({
  selection,
  filter,
  tenant,
}: {
  selection: Selection;
  filter: JobFilter;
  tenant: string | undefined;
}): JSX.Element | null {
  const may = useMay();
  const [change, setChange] = useState<Change>();
  if (!selection.isAll && selection.rows.size === 0) return null;
  const rows = [...selection.rows.values()];
  const isFinished = (status: string): boolean => !["queued", "running"].includes(status);
  const none = (matches: (status: string) => boolean, reason: string): string | undefined =>
    selection.isAll || rows.some(({ status }) => matches(status)) ? undefined : reason;
  const chosen: ApiFilter = selection.isAll ? apiFilterOf(filter) : { ids: rows.map(({ id }) => id) };
  return (
    <div class={css["bar"]} role="toolbar" aria-label="Selected jobs">
      <strong role="status">
        {selection.isAll ? "All that match" : `${plural(rows.length, "job")} selected`}
      </strong>
      {!selection.isAll && (
        <Button kind="quiet" shortcut="a" onClick={selection.selectAllThatMatch}>
          Select all that match
        </Button>
      )}
      <span class={css["space"]} />
      <Button
        icon="run"
        blocked={none(
          (status) => ["queued", "failed", "dead"].includes(status),
          "Only queued, failed and dead jobs can run now",
        )}
        onClick={() => setChange("reschedule")}
      >
        Run now
      </Button>
      <Button
        icon="cancel"
        blocked={none((status) => !isFinished(status), "Only queued and running jobs can be canceled")}
        onClick={() => setChange("cancel")}
      >
        Cancel
      </Button>
      {may("purge_jobs") && (
        <Button
          icon="trash"
          blocked={none(isFinished, "Only finished jobs can be deleted")}
          onClick={() => setChange("purge")}
        >
          Delete
        </Button>
      )}
      <Button kind="quiet" icon="close" label="Clear the selection" onClick={selection.clear} />
      {change !== undefined && (
        <BulkDialog
          change={change}
          filter={chosen}
          tenant={tenant}
          onClose={() => setChange(undefined)}
          onDone={selection.clear}
        />
      )}
    </div>
  );
}
