/** Why a job is where it is, each reason with what can be done about it. */
import type { JSX } from "preact";
import { type Place, resume } from "../../api/gates.ts";
import { type Reason, useReasons } from "../../api/job.ts";
import { type Job, type JobName, runJobNow } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { plural } from "../../lib/format.ts";
import { Button } from "../../ui/Button.tsx";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Time, Words } from "../../ui/Time.tsx";
import { useChange } from "../../ui/useChange.ts";
import css from "./Why.module.css";

const isFinished = (job: Job): boolean => job.finished_at !== null;

export function Why({ job, name }: { job: Job; name: JobName }): JSX.Element {
  const reasons = useReasons(name);
  const isBad = job.status === "dead" || job.status === "failed";
  const title = isFinished(job)
    ? "How it ended"
    : job.status === "running"
      ? "What it does now"
      : "Why it is not running";
  return (
    <Panel
      title={title}
      tone={isBad ? "bad" : job.status === "queued" ? "warn" : job.status === "running" ? "info" : "good"}
    >
      <Load query={reasons} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <p>Nothing holds it back: a worker takes it next.</p>
          ) : (
            <ul class={css["reasons"]}>
              {items.map((reason, index) => (
                <li key={`${reason.code} ${index}`}>
                  <div class={css["what"]}>
                    <code class={css["code"]}>{reason.code.replaceAll("_", " ")}</code>
                    <p>
                      <Words text={reason.message} />
                    </p>
                    <Holders reason={reason} job={job} />
                  </div>
                  <Fix reason={reason} job={job} name={name} />
                </li>
              ))}
            </ul>
          )
        }
      </Load>
    </Panel>
  );
}

interface Details {
  readonly scope?: "all" | "type" | "tenant" | "type_tenant" | "key";
  readonly key?: string;
  readonly held_by?: readonly { readonly job_id: string; readonly started_at: string }[];
  readonly held_by_others?: number;
}

/** The jobs that hold the places of a limit. */
function Holders({ reason, job }: { reason: Reason; job: Job }): JSX.Element | null {
  const { held_by = [], held_by_others = 0 } = reason.details as Details;
  if (held_by.length === 0 && held_by_others === 0) return null;
  return (
    <p class={css["holders"]}>
      Held by{" "}
      {held_by.map(({ job_id, started_at }, index) => (
        <span key={job_id}>
          {index > 0 && ", "}
          <Link to={`/jobs/${job_id}`} params={{ of: job.tenant_id }}>
            …{job_id.slice(-8)}
          </Link>{" "}
          (since <Time at={started_at} />)
        </span>
      ))}
      {held_by_others > 0 && ` and ${plural(held_by_others, "job")} of other tenants`}
    </p>
  );
}

/** The one action that removes this reason, if the caller may take it. */
function Fix({ reason, job, name }: { reason: Reason; job: Job; name: JobName }): JSX.Element | null {
  const may = useMay();
  const details = reason.details as Details;
  switch (reason.code) {
    case "paused":
      return may("set_gate") ? <Resume details={details} /> : null;
    case "behind":
      return (
        <Link to="/jobs" params={{ status: "queued", type: job.type }}>
          See the jobs before it
        </Link>
      );
    case "scheduled":
    case "deferred":
    case "retrying":
      return may("reschedule_job") && job.status === "queued" ? <RunNow name={name} /> : null;
    // What ended runs again with the first button of the page.
    default:
      return null;
  }
}

function Resume({ details }: { details: Details }): JSX.Element {
  const { scope = "all", key = null } = details;
  const place = { scope: scope as Place["scope"], key };
  const change = useChange({
    run: () => resume(place),
    done: () => `Resumed ${scope === "all" ? "everything" : `the ${scope} ${key ?? ""}`}`,
  });
  return (
    <Button icon="run" busy={change.isPending} onClick={() => change.mutate()}>
      Resume {scope === "all" ? "everything" : `the ${scope}`}
    </Button>
  );
}

function RunNow({ name }: { name: JobName }): JSX.Element {
  const change = useChange({ run: () => runJobNow(name), done: () => "The job is due now" });
  return (
    <Button icon="run" busy={change.isPending} onClick={() => change.mutate()}>
      Run now
    </Button>
  );
}
