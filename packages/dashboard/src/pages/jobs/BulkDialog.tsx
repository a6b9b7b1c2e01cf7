/** Asks before many jobs are changed: how many, of which tenants and types. Then shows the progress, with a stop. */
import { useQuery, useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import { changeJobs, countJobs, type JobCount, type Progress } from "../../api/bulk.ts";
import type { Change } from "../../api/jobs.ts";
import type { ApiFilter } from "../../lib/filter.ts";
import { count, plural } from "../../lib/format.ts";
import { tenantName, useTenants } from "../../shell/TenantSwitch.tsx";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { ProblemNote, Skeleton } from "../../ui/States.tsx";
import { say } from "../../ui/Toasts.tsx";
import css from "./BulkDialog.module.css";

const verbs: Readonly<Record<Change, { verb: string; done: string; effect: string }>> = {
  cancel: {
    verb: "Cancel",
    done: "Canceled",
    effect:
      "Queued jobs are canceled at once, running jobs when their run ends. Canceled jobs do not run again.",
  },
  reschedule: {
    verb: "Run",
    done: "Queued",
    effect: "Failed and dead jobs get all their attempts again. Queued jobs no longer wait for their time.",
  },
  purge: {
    verb: "Delete",
    done: "Deleted",
    effect:
      "The jobs, their attempts and results are removed before their retention ends. This cannot be undone.",
  },
};

/** Above this number, the user types it, so that no habit confirms it. */
const typedAbove = 1000;
/** The kernel counts up to this many jobs. */
const mostCounted = 100_000;

interface BulkDialogProps {
  readonly change: Change;
  readonly filter: ApiFilter;
  readonly tenant: string | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function BulkDialog({ change, filter, tenant, onClose, onDone }: BulkDialogProps): JSX.Element {
  // Jobs that arrive after this moment are not part of what the user sees and confirms.
  const bounded = useMemo(() => boundedBy(filter, new Date().toISOString()), [filter]);
  const counted = useQuery({
    queryKey: ["bulk-count", bounded, change, tenant ?? null],
    queryFn: () => countJobs(bounded, change, tenant),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const client = useQueryClient();
  const [progress, setProgress] = useState<Progress>();
  const [problem, setProblem] = useState<unknown>();
  const [typed, setTyped] = useState("");
  const stop = useRef<AbortController>();
  const field = useId();
  const rows = counted.data ?? [];
  const total = rows.reduce((sum, { jobs }) => sum + jobs, 0);
  const { verb, done, effect } = verbs[change];
  const needsTyping = change === "purge" || total > typedAbove;
  const blocked =
    counted.data === undefined
      ? "The jobs are being counted"
      : total === 0
        ? "No job can be changed like this"
        : needsTyping && typed.replaceAll(/\D/g, "") !== String(total)
          ? `Type ${count(total)} to confirm`
          : undefined;
  const isRunning = progress !== undefined && !progress.isDone && problem === undefined;
  const run = async (): Promise<void> => {
    if (blocked !== undefined || isRunning) return;
    stop.current = new AbortController();
    setProblem(undefined);
    setProgress({ changed: 0, isDone: false });
    try {
      const tenants = [...new Set(rows.map(({ tenant_id }) => tenant_id))];
      const end = await changeJobs(change, bounded, tenants, stop.current.signal, setProgress);
      say(`${done} ${plural(end.changed, "job")}${end.isDone ? "" : ", then stopped"}`);
      onDone();
      onClose();
    } catch (error) {
      setProblem(error);
    }
    await client.invalidateQueries({
      predicate: ({ queryKey }) => queryKey[0] !== "me" && queryKey[0] !== "ui",
    });
  };
  return (
    <Dialog
      title={`${verb} jobs`}
      onClose={isRunning ? () => stop.current?.abort() : onClose}
      onSubmit={() => void run()}
      actions={
        isRunning ? (
          <Button icon="pause" onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Keep them as they are</Button>
            <Button type="submit" kind={change === "reschedule" ? "primary" : "danger"} blocked={blocked}>
              {verb} {counted.data === undefined ? "jobs" : plural(total, "job")}
            </Button>
          </>
        )
      }
    >
      <p>{effect}</p>
      {counted.error !== null && <ProblemNote error={counted.error} />}
      {counted.data === undefined && counted.error === null && <Skeleton rows={3} />}
      {rows.length > 0 && <Radius rows={rows} total={total} />}
      {counted.data !== undefined && total === 0 && <p>None of these jobs can be changed like this.</p>}
      {needsTyping && !isRunning && total > 0 && (
        <label for={field} class={css["confirm"]}>
          Type <b>{count(total)}</b> to confirm
          <input
            id={field}
            type="text"
            inputmode="numeric"
            autocomplete="off"
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      )}
      {progress !== undefined && (
        <p class={css["progress"]}>
          <progress
            max={Math.max(total, progress.changed)}
            value={progress.changed}
            aria-label="Changed jobs"
          />
          <output>
            {count(progress.changed)} of {count(total)}
          </output>
        </p>
      )}
      {problem !== undefined && <ProblemNote error={problem} />}
    </Dialog>
  );
}

function boundedBy(filter: ApiFilter, now: string): ApiFilter {
  return "ids" in filter || "created_before" in filter ? filter : { ...filter, created_before: now };
}

/** The blast radius: what is changed, by tenant and type. */
function Radius({ rows, total }: { rows: readonly JobCount[]; total: number }): JSX.Element {
  const { data } = useTenants();
  const labels = new Map((data?.items ?? []).map((tenant) => [tenant.tenant_id, tenantName(tenant)]));
  const shown = rows.slice(0, 8);
  const tenants = new Set(rows.map(({ tenant_id }) => tenant_id)).size;
  const types = new Set(rows.map(({ type }) => type)).size;
  return (
    <div class={css["radius"]}>
      <p>
        <b>
          {total >= mostCounted ? "At least " : ""}
          {plural(total, "job")}
        </b>{" "}
        of {plural(tenants, "tenant")} and {plural(types, "type")}
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
              <td>{labels.get(tenant_id) ?? tenantName({ tenant_id })}</td>
              <td>{count(jobs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && <p>… and {plural(rows.length - shown.length, "more group")}</p>}
    </div>
  );
}
