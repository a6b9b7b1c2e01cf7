/** What can be done with one job, by its buttons and their keys. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { apiBase } from "../../api/client.ts";
import { cancelJob, type JobName, type Job as JobRow, runJobAt, runJobNow } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { jobCommands } from "../../lib/commands.ts";
import { type Exact, writeExact } from "../../lib/json.ts";
import { useKeys } from "../../shell/keys.ts";
import { navigate } from "../../state/route.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs, copy } from "../../ui/Copy.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { useChange } from "../../ui/useChange.ts";
import { neighbour } from "../jobs/rows.ts";
import { EditJob } from "./EditJob.tsx";

interface ActionsProps {
  readonly name: JobName;
  readonly row: JobRow;
  readonly payload: Exact;
}

export function Actions({ name, row, payload }: ActionsProps): JSX.Element {
  const may = useMay();
  const [opened, open] = useState<"change" | "copy" | "cancel">();
  const close = (): void => open(undefined);
  const isQueued = row.status === "queued";
  const isOver = row.status === "failed" || row.status === "dead";
  const { notRunnable, notCancelable } = hindrancesOf(row);
  const run = useRun(name);
  const canRun = may("reschedule_job");
  const go = (step: 1 | -1): void => {
    const next = neighbour(row.id, step);
    if (next !== undefined) navigate(`/jobs/${next.id}`, { of: next.tenant_id });
  };
  useKeys({
    r: () => canRun && notRunnable === undefined && run.mutate(row),
    c: () => may("cancel_job") && notCancelable === undefined && open("cancel"),
    e: () => may("update_job") && open(isQueued ? "change" : "copy"),
    y: () => void copy(row.id, "the id"),
    "[": () => go(-1),
    "]": () => go(1),
  });
  return (
    <>
      {canRun && (
        <Button
          icon="run"
          kind="primary"
          shortcut="r"
          blocked={notRunnable}
          busy={run.isPending}
          onClick={() => run.mutate(row)}
        >
          {isOver ? "Run again" : "Run now"}
        </Button>
      )}
      {may("cancel_job") && (
        <Button icon="cancel" shortcut="c" blocked={notCancelable} onClick={() => open("cancel")}>
          Cancel
        </Button>
      )}
      {may("update_job") && isQueued && (
        <Button icon="edit" shortcut="e" onClick={() => open("change")}>
          Edit
        </Button>
      )}
      {may("enqueue_job") && (
        <Button icon="plus" {...(!isQueued && { shortcut: "e" })} onClick={() => open("copy")}>
          Edit a copy
        </Button>
      )}
      <CopyAs
        commands={jobCommands(isOver ? "reschedule" : "explain", row.id, row.tenant_id, apiBase)}
        more={[
          ["The link to this page", () => void copy(location.href, "the link")],
          ["The payload", () => void copy(writeExact(payload, 2), "the payload")],
        ]}
      />
      {(opened === "change" || opened === "copy") && (
        <EditJob mode={opened} name={name} row={row} payload={payload} onClose={close} />
      )}
      {opened === "cancel" && <CancelJob name={name} row={row} onClose={close} />}
    </>
  );
}

/** Why the job can neither run now nor be canceled, if so. */
function hindrancesOf({ status, cancel_requested }: JobRow): {
  readonly notRunnable: string | undefined;
  readonly notCancelable: string | undefined;
} {
  const isLive = status === "queued" || status === "running";
  const canRun = status === "queued" || status === "failed" || status === "dead";
  return {
    notRunnable: canRun ? undefined : `A ${status} job cannot run again; edit a copy instead`,
    notCancelable: cancel_requested
      ? "Its cancellation was already requested"
      : isLive
        ? undefined
        : `A ${status} job cannot be canceled`,
  };
}

/** What a job was before it was run by hand. */
type Before = Pick<JobRow, "status" | "run_at">;

/** Undo gives a queued job the time back that it waited for. One that runs again is canceled, unless it has started. */
const useRun = (name: JobName) =>
  useChange<Before>({
    run: () => runJobNow(name),
    undo: ({ status, run_at }) => (status === "queued" ? runJobAt(name, run_at) : cancelJob(name)),
    undone: ({ status }) =>
      status === "queued" ? "The job waits for its time again" : "The job is canceled",
    done: () => "The job is due now",
  });

/** A canceled job does not run again, so one letter too many must not cancel it. */
function CancelJob({
  name,
  row,
  onClose,
}: Omit<ActionsProps, "payload"> & { onClose: () => void }): JSX.Element {
  const isQueued = row.status === "queued";
  const cancel = useChange({
    run: () => cancelJob(name),
    done: () => (isQueued ? "The job is canceled" : "The job is canceled when its run ends"),
    after: onClose,
  });
  return (
    <Dialog
      title={`Cancel this job of ${row.type}?`}
      onClose={onClose}
      onSubmit={() => cancel.mutate()}
      actions={
        <>
          <Button onClick={onClose}>Let it go on</Button>
          <Button type="submit" kind="danger" busy={cancel.isPending}>
            Cancel the job
          </Button>
        </>
      }
    >
      <p>
        {isQueued
          ? "It is canceled at once."
          : "Its handler is asked to stop, and it is canceled when its run ends."}{" "}
        A canceled job does not run again; a copy of it can.
      </p>
    </Dialog>
  );
}
