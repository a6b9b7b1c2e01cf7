/** One job: what it is, why it is there, what happened, and what can be done. */
import { useMutation, useQueryClient } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { apiBase } from "../../api/client.ts";
import { useAttempts, useJob, useResult } from "../../api/job.ts";
import { cancelJob, type JobName, type Job as JobRow, runJobNow, useTenantOf } from "../../api/jobs.ts";
import { problemFrom } from "../../api/problem.ts";
import { useMay, useSeesTenants } from "../../api/session.ts";
import { jobCommands } from "../../lib/commands.ts";
import { bytes } from "../../lib/format.ts";
import { type Exact, field, writeExact } from "../../lib/json.ts";
import { useKeys } from "../../shell/keys.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { navigate, useTenant } from "../../state/route.ts";
import { now } from "../../state/settings.ts";
import { Button } from "../../ui/Button.tsx";
import { CopyAs, copy } from "../../ui/Copy.tsx";
import { Json } from "../../ui/Json.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Empty, Load, ProblemNote, Skeleton } from "../../ui/States.tsx";
import { Status, wordFor } from "../../ui/Status.tsx";
import { Time } from "../../ui/Time.tsx";
import { say, sayProblem } from "../../ui/Toasts.tsx";
import { neighbour } from "../jobs/rows.ts";
import { Attempts, TraceLink } from "./Attempts.tsx";
import { EditJob } from "./EditJob.tsx";
import css from "./Job.module.css";
import { Timeline } from "./Timeline.tsx";
import { Why } from "./Why.tsx";

export function Job({ params }: { params: Readonly<Record<string, string>> }): JSX.Element {
  const id = params["id"] ?? "";
  const chosen = useTenant();
  const of = new URLSearchParams(useSearch()).get("of") ?? undefined;
  const seesTenants = useSeesTenants();
  const isAsked = seesTenants && of === undefined && chosen === undefined;
  const found = useTenantOf(id, isAsked);
  const name: JobName = { id, tenant: of ?? chosen ?? found.data ?? undefined };
  const job = useJob(name, !isAsked || name.tenant !== undefined);
  const isMissing = isAsked && found.data === null;
  if (job.data !== undefined) return <Loaded name={name} row={job.data.row} exact={job.data.exact} />;
  const error = job.error ?? found.error;
  if (isMissing || (error !== null && [404, 400].includes(problemFrom(error).status)))
    return (
      <>
        <PageHead title="Job" />
        <Empty title="There is no such job">
          <p>
            It never existed, belongs to another tenant, or its retention has ended and it was deleted:{" "}
            <code>{id}</code>
          </p>
          <Link to="/jobs">See all jobs</Link>
        </Empty>
      </>
    );
  return (
    <>
      <PageHead title="Job" />
      {error === null ? (
        <Skeleton rows={8} />
      ) : (
        <ProblemNote error={error} onRetry={() => void (isAsked ? found : job).refetch()} />
      )}
    </>
  );
}

function Loaded({ name, row, exact }: { name: JobName; row: JobRow; exact: Exact }): JSX.Element {
  const attempts = useAttempts(name);
  const isFinished = row.finished_at !== null;
  const result = useResult(name, isFinished && row.result_id !== null);
  const payload = field(exact, "payload") ?? null;
  const progress = field(exact, "progress") ?? null;
  return (
    <>
      <PageHead title={row.type} note={<Status word={wordFor(row, now.peek())} />}>
        <Actions name={name} row={row} payload={payload} />
      </PageHead>
      <Sentence row={row} />
      <div class={css["columns"]}>
        <div class={css["main"]}>
          <Why job={row} name={name} />
          <Load query={attempts} rows={3}>
            {({ items }) => (
              <>
                <Timeline job={row} attempts={items} />
                <Attempts attempts={items} />
              </>
            )}
          </Load>
        </div>
        <div class={css["side"]}>
          <Panel title="Payload" note={bytes(writeExact(payload).length)}>
            <Json value={payload} what="the payload" />
          </Panel>
          {progress !== null && (
            <Panel title="Progress">
              <Json value={progress} what="the progress" />
            </Panel>
          )}
          {result.data !== undefined && result.data !== null && (
            <Panel title="Result">
              <Json value={result.data} what="the result" />
            </Panel>
          )}
          <About row={row} />
        </div>
      </div>
    </>
  );
}

/** The state of the job in one sentence. */
function Sentence({ row }: { row: JobRow }): JSX.Element {
  const seesTenants = useSeesTenants();
  return (
    <p class={css["sentence"]}>
      <button
        type="button"
        class={css["id"]}
        title="Copy the id (y)"
        onClick={() => void copy(row.id, "the id")}
      >
        {row.id}
      </button>
      {seesTenants && <span>of {tenantName({ label: row.tenant_label, tenant_id: row.tenant_id })}</span>}
      {row.subject !== null && (
        <span>
          about{" "}
          <Link to="/jobs" params={{ subject: row.subject }}>
            {row.subject}
          </Link>
        </span>
      )}
      <span>
        attempt {row.attempts} of {row.max_attempts + row.uncounted}
      </span>
    </p>
  );
}

function Actions({ name, row, payload }: { name: JobName; row: JobRow; payload: Exact }): JSX.Element {
  const may = useMay();
  const client = useQueryClient();
  const [editing, setEditing] = useState<"change" | "copy">();
  const isQueued = row.status === "queued";
  const isOver = row.status === "failed" || row.status === "dead";
  const change = (work: (job: JobName) => Promise<unknown>, done: string) => ({
    mutationFn: () => work(name),
    onSuccess: () => say(done),
    onError: sayProblem,
    onSettled: () => client.invalidateQueries(),
  });
  const run = useMutation(change(runJobNow, "The job is due now"));
  const cancel = useMutation(
    change(cancelJob, isQueued ? "The job is canceled" : "The job is canceled when its run ends"),
  );
  const notRunnable =
    isQueued || isOver ? undefined : `A ${row.status} job cannot run again; edit a copy instead`;
  const notCancelable = row.cancel_requested
    ? "Its cancellation was already requested"
    : isQueued || row.status === "running"
      ? undefined
      : `A ${row.status} job cannot be canceled`;
  const canRun = may("reschedule_job");
  const go = (step: 1 | -1): void => {
    const next = neighbour(row.id, step);
    if (next !== undefined) navigate(`/jobs/${next.id}`, { of: next.tenant_id });
  };
  useKeys({
    r: () => canRun && notRunnable === undefined && run.mutate(),
    c: () => may("cancel_job") && notCancelable === undefined && cancel.mutate(),
    e: () => may("update_job") && setEditing(isQueued ? "change" : "copy"),
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
          onClick={() => run.mutate()}
        >
          {isOver ? "Run again" : "Run now"}
        </Button>
      )}
      {may("cancel_job") && (
        <Button
          icon="cancel"
          shortcut="c"
          blocked={notCancelable}
          busy={cancel.isPending}
          onClick={() => cancel.mutate()}
        >
          Cancel
        </Button>
      )}
      {may("update_job") && isQueued && (
        <Button icon="edit" shortcut="e" onClick={() => setEditing("change")}>
          Edit
        </Button>
      )}
      {may("enqueue_job") && (
        <Button icon="plus" {...(!isQueued && { shortcut: "e" })} onClick={() => setEditing("copy")}>
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
      {editing !== undefined && (
        <EditJob
          mode={editing}
          name={name}
          row={row}
          payload={payload}
          onClose={() => setEditing(undefined)}
        />
      )}
    </>
  );
}

function About({ row }: { row: JobRow }): JSX.Element {
  const extra = row as JobRow & { readonly schedule_key?: string | null };
  return (
    <Panel title="About">
      <Facts
        facts={[
          ["Created", <Time key="c" at={row.created_at} />],
          row.finished_at === null && ["Due", <Time key="d" at={row.run_at} />],
          row.started_at !== null && ["Started", <Time key="s" at={row.started_at} />],
          row.finished_at !== null && ["Ended", <Time key="f" at={row.finished_at} />],
          row.expires_at !== null && ["Must start before", <Time key="e" at={row.expires_at} />],
          ["Priority", String(row.priority)],
          row.locked_by !== null && ["Worker", <code key="w">{row.locked_by}</code>],
          row.tags.length > 0 && ["Tags", row.tags.join(", ")],
          row.idempotency_key !== null && ["Idempotency key", <code key="i">{row.idempotency_key}</code>],
          row.dedupe_key !== null && ["Dedupe key", <code key="k">{row.dedupe_key}</code>],
          row.concurrency_key !== null && ["Concurrency key", <code key="q">{row.concurrency_key}</code>],
          typeof extra.schedule_key === "string" && ["Schedule", extra.schedule_key],
          row.cost_cents !== null && ["Cost", `${row.cost_cents} cents`],
          row.reason !== null && ["Ended because", row.reason],
          row.trace_id !== null && ["Trace", <TraceLink key="t" id={row.trace_id} />],
        ]}
      />
    </Panel>
  );
}
