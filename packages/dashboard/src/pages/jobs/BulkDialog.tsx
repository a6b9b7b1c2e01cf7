/** Asks before many jobs are changed: how many, of which tenants and types. Then shows the progress, with a stop. */
import { useQuery, useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { changeJobs, countedFilter, countJobs, type Progress, revivable, takeBack } from "../../api/bulk.ts";
import type { Change } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import type { ApiFilter } from "../../lib/filter.ts";
import { count, plural } from "../../lib/format.ts";
import { Button } from "../../ui/Button.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { Link } from "../../ui/Link.tsx";
import { ProblemNote, Skeleton } from "../../ui/States.tsx";
import { say, sayProblem } from "../../ui/Toasts.tsx";
import css from "./BulkDialog.module.css";
import { Radius } from "./Radius.tsx";

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

const nothingYet: Progress = { changed: 0, isDone: false, operation: "" };

/** Above this number, the user types it, so that no habit confirms it. */
const typedAbove = 1000;

interface BulkDialogProps {
  readonly change: Change;
  readonly filter: ApiFilter;
  readonly tenant: string | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function BulkDialog({ change, filter, tenant, onClose, onDone }: BulkDialogProps): JSX.Element {
  const counted = useQuery({
    queryKey: ["bulk-count", filter, change, tenant ?? null],
    queryFn: () => countJobs(filter, change, tenant),
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
  // A count stops at a hundred thousand jobs, and the change does not.
  const atLeast = rows.every(({ exact }) => exact) ? "" : "at least ";
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
  const reload = (): Promise<void> =>
    client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
  const run = async (): Promise<void> => {
    if (blocked !== undefined || isRunning) return;
    stop.current = new AbortController();
    setProblem(undefined);
    setProgress(nothingYet);
    try {
      const agreed = countedFilter(filter, rows);
      const revived = await revivable(change, agreed, rows, tenant);
      const end = await changeJobs(change, agreed, tenant, stop.current.signal, setProgress);
      const undo = { label: "Undo", run: () => void undoRun(revived ?? [], tenant).then(reload) };
      say(<Done text={done} end={end} tenant={tenant} />, revived === undefined ? undefined : undo);
      onDone();
      onClose();
    } catch (error) {
      setProblem(error);
    }
    await reload();
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
              {verb} {counted.data === undefined ? "jobs" : `${atLeast}${plural(total, "job")}`}
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

/** What was done, and where the audit log has it. */
function Done({
  text,
  end,
  tenant,
}: {
  text: string;
  end: Progress;
  tenant: string | undefined;
}): JSX.Element {
  const may = useMay();
  return (
    <>
      <span>{`${text} ${plural(end.changed, "job")}${end.isDone ? "" : ", then stopped"}`}</span>
      {may("list_audit") && (
        <>
          {" · "}
          <Link to="/audit" params={{ entity: end.operation, tenant }}>
            Audit entry
          </Link>
        </>
      )}
    </>
  );
}

/** Jobs that have started meanwhile go on: a run cannot be taken back. */
async function undoRun(ids: readonly string[], tenant: string | undefined): Promise<void> {
  try {
    const canceled = await takeBack(ids, tenant);
    const rest = ids.length - canceled;
    say(`Canceled ${plural(canceled, "job")}${rest > 0 ? `; ${plural(rest, "other")} had started` : ""}`);
  } catch (error) {
    sayProblem(error);
  }
}
