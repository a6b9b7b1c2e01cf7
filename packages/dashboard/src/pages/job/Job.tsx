/** One job: what it is, why it is there, what happened, and what can be done. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact/use-browser-location";
import { useAttempts, useJob, useResult } from "../../api/job.ts";
import { type JobName, type Job as JobRow, useTenantOf } from "../../api/jobs.ts";
import { problemFrom } from "../../api/problem.ts";
import { useSeesTenants } from "../../api/session.ts";
import { plural } from "../../lib/format.ts";
import { type Exact, field } from "../../lib/json.ts";
import { tenantName } from "../../shell/TenantSwitch.tsx";
import { useTenant } from "../../state/route.ts";
import { now } from "../../state/settings.ts";
import { copy } from "../../ui/Copy.tsx";
import { Link } from "../../ui/Link.tsx";
import { Facts, PageHead, Panel } from "../../ui/Panel.tsx";
import { Empty, Load, ProblemNote, Skeleton } from "../../ui/States.tsx";
import { Status, wordFor } from "../../ui/Status.tsx";
import { Time } from "../../ui/Time.tsx";
import { Actions } from "./Actions.tsx";
import { Attempts, TraceLink } from "./Attempts.tsx";
import { Data, type JobData } from "./Data.tsx";
import css from "./Job.module.css";
import { Logs } from "./Logs.tsx";
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
  if (job.data !== undefined)
    return <Loaded key={id} name={name} row={job.data.row} exact={job.data.exact} />;
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
  const [revealed, setRevealed] = useState<Exact>();
  const data: JobData = {
    payload: field(revealed ?? exact, "payload") ?? null,
    progress: field(revealed ?? exact, "progress") ?? null,
    result: (revealed === undefined ? result.data : field(revealed, "result")) ?? null,
    isRevealed: revealed !== undefined,
  };
  return (
    <>
      <PageHead title={row.type} note={<Status word={wordFor(row, now.peek())} />}>
        <Actions name={name} row={row} payload={data.payload} />
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
          <Logs job={row} name={name} />
        </div>
        <div class={css["side"]}>
          <Data name={name} row={row} data={data} onReveal={setRevealed} />
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
          row.locked_by !== null && [
            "Worker",
            <Link key="w" to="/jobs" params={{ status: "running", worker: row.locked_by }}>
              {row.locked_by}
            </Link>,
          ],
          row.tags.length > 0 && ["Tags", row.tags.join(", ")],
          row.idempotency_key !== null && ["Idempotency key", <code key="i">{row.idempotency_key}</code>],
          row.dedupe_key !== null && ["Dedupe key", <code key="k">{row.dedupe_key}</code>],
          row.concurrency_key !== null && [
            "Concurrency key",
            <Link key="q" to="/jobs" params={{ concurrency: row.concurrency_key }}>
              {row.concurrency_key}
            </Link>,
          ],
          typeof extra.schedule_key === "string" && [
            "Schedule",
            <Link
              key="schedule"
              to={`/schedules/${encodeURIComponent(row.type)}/${encodeURIComponent(extra.schedule_key)}`}
              params={{ of: row.tenant_id }}
            >
              {extra.schedule_key}
            </Link>,
          ],
          row.cost_cents !== null && ["Cost", plural(row.cost_cents, "cent")],
          row.reason !== null && ["Ended because", row.reason],
          row.trace_id !== null && [
            "Trace",
            <p key="t">
              <TraceLink id={row.trace_id} isNamed />{" "}
              <Link to="/jobs" params={{ trace: row.trace_id }}>
                its jobs
              </Link>
            </p>,
          ],
        ]}
      />
    </Panel>
  );
}
