/** Every attempt of a job, newest first: who ran it, how long, and the error with its stack. */
import type { JSX } from "preact";
import type { Attempt } from "../../api/job.ts";
import { ui } from "../../api/session.ts";
import { errorText } from "../../lib/errors.ts";
import { count, duration } from "../../lib/format.ts";
import type { Exact } from "../../lib/json.ts";
import { CopyButton } from "../../ui/Copy.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Empty } from "../../ui/States.tsx";
import { Status, type StatusWord } from "../../ui/Status.tsx";
import { Since, Time } from "../../ui/Time.tsx";
import css from "./Attempts.module.css";

export function Attempts({ attempts }: { attempts: readonly Attempt[] }): JSX.Element {
  const newest = [...attempts].sort((a, b) => b.attempt_no - a.attempt_no);
  return (
    <Panel title="Attempts" note={count(attempts.length)} flush>
      {newest.length === 0 ? (
        <Empty title="It has not started yet" />
      ) : (
        <ol class={css["list"]}>
          {newest.map((attempt, index) => (
            <One key={attempt.attempt_no} attempt={attempt} isNewest={index === 0} />
          ))}
        </ol>
      )}
    </Panel>
  );
}

function One({ attempt, isNewest }: { attempt: Attempt; isNewest: boolean }): JSX.Element {
  const error = errorText(attempt.error as Exact | undefined);
  return (
    <li class={css["attempt"]}>
      <div class={css["line"]}>
        <b>{attempt.attempt_no}</b>
        <Status word={attempt.status as StatusWord} />
        <span>
          <Time at={attempt.started_at} />
        </span>
        <span>
          {attempt.finished_at === null ? (
            <Since at={attempt.started_at} />
          ) : (
            duration(attempt.duration_ms ?? 0)
          )}
        </span>
        <span class={css["worker"]} title={attempt.worker_id}>
          {attempt.worker_id}
        </span>
        {attempt.handed && (
          <span title="The enqueue handed the job to the worker, without a claim">handed</span>
        )}
        <TraceLink id={attempt.trace_id} />
      </div>
      {error !== undefined && <ErrorBlock error={error} isOpen={isNewest} />}
    </li>
  );
}

interface TraceLinkProps {
  readonly id: string | null;
  /** What is next to it says already that it is a trace. */
  readonly isNamed?: boolean;
}

/** The trace in the system of the operator, whose address the server knows. */
export function TraceLink({ id, isNamed = false }: TraceLinkProps): JSX.Element | null {
  if (id === null) return null;
  const template = ui.trace_url;
  if (template === null || !/^https?:/.test(template))
    return (
      <code class={css["trace"]} title={`Trace ${id}`}>
        {!isNamed && "trace "}
        {id.slice(0, 8)}
      </code>
    );
  return (
    <a href={template.replaceAll("{trace_id}", encodeURIComponent(id))} rel="noreferrer" target="_blank">
      {!isNamed && "Trace "}
      {id.slice(0, 8)}
    </a>
  );
}

export function ErrorBlock({
  error,
  isOpen,
}: {
  error: { readonly title: string; readonly trace: string | undefined };
  isOpen: boolean;
}): JSX.Element {
  if (error.trace === undefined) return <p class={css["message"]}>{error.title}</p>;
  return (
    <details class={css["error"]} open={isOpen}>
      <summary>{error.title}</summary>
      <div class={css["stack"]}>
        <CopyButton text={error.trace} what="the stack" />
        <pre>{error.trace}</pre>
      </div>
    </details>
  );
}
