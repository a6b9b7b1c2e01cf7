/** What the handler logged, attempt by attempt, if the policy of the type keeps logs. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type JobLog, useLogs } from "../../api/job.ts";
import type { Job, JobName } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { count, plural } from "../../lib/format.ts";
import { CopyButton } from "../../ui/Copy.tsx";
import { Link } from "../../ui/Link.tsx";
import { Panel } from "../../ui/Panel.tsx";
import { Load } from "../../ui/States.tsx";
import { Time } from "../../ui/Time.tsx";
import css from "./Logs.module.css";

const levels = ["debug", "info", "warn", "error"] as const;
type Level = (typeof levels)[number];

export function Logs({ job, name }: { job: Job; name: JobName }): JSX.Element | null {
  const isAllowed = useMay()("list_logs");
  const logs = useLogs(name, isAllowed && job.attempts > 0);
  const [least, setLeast] = useState<Level>("debug");
  if (!isAllowed || job.attempts === 0) return null;
  const lines = logs.data?.items.reduce((sum, log) => sum + log.lines.length, 0) ?? 0;
  return (
    <Panel
      title="Logs"
      note={logs.data && plural(lines, "line")}
      flush
      actions={
        lines > 0 && (
          <>
            <label class={css["least"]}>
              From level{" "}
              <select value={least} onChange={({ currentTarget }) => setLeast(currentTarget.value as Level)}>
                {levels.map((level) => (
                  <option key={level}>{level}</option>
                ))}
              </select>
            </label>
            <CopyButton text={textOf(logs.data?.items ?? [])} what="the logs" />
          </>
        )
      }
    >
      <Load query={logs} rows={3}>
        {({ items }) =>
          lines === 0 ? (
            <p class="inset">
              Nothing was kept. The{" "}
              <Link to={`/types/${encodeURIComponent(job.type)}`}>policy of the type</Link> decides which
              attempts keep what <code>job.log</code> writes. Logs appear when an attempt has ended.
            </p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
            <section class={css["logs"]} tabIndex={0} aria-label="Lines of the logs">
              {items.map((log) => (
                <One key={log.attempt_no} log={log} least={levels.indexOf(least)} />
              ))}
            </section>
          )
        }
      </Load>
    </Panel>
  );
}

function One({ log, least }: { log: JobLog; least: number }): JSX.Element {
  const shown = log.lines.filter(({ level }) => levels.indexOf(level as Level) >= least);
  return (
    <>
      <h3>Attempt {log.attempt_no}</h3>
      {shown.length === 0 && <p>No line of this level</p>}
      <ol>
        {shown.map((line, index) => (
          <li key={index} data-level={line.level}>
            <span class={css["at"]}>
              <Time at={line.at} />
            </span>
            <b>{line.level}</b>
            <span>
              {line.message}
              {line.fields !== undefined && <code> {JSON.stringify(line.fields)}</code>}
              {line.truncated && " … (cut)"}
            </span>
          </li>
        ))}
      </ol>
      {log.dropped > 0 && <p>{count(log.dropped)} more lines were not kept</p>}
    </>
  );
}

function textOf(logs: readonly JobLog[]): string {
  return logs
    .flatMap(({ attempt_no, lines }) =>
      lines.map(({ at, level, message, fields }) =>
        [attempt_no, at, level, message, fields && JSON.stringify(fields)].filter(Boolean).join(" "),
      ),
    )
    .join("\n");
}
