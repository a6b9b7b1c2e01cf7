/** The life of a job to scale: waits, runs, and the retry that is planned. */
import type { JSX } from "preact";
import type { Attempt } from "../../api/job.ts";
import type { Job } from "../../api/jobs.ts";
import { duration } from "../../lib/format.ts";
import { placesOf, spansOf } from "../../lib/timeline.ts";
import { now } from "../../state/settings.ts";
import { Panel } from "../../ui/Panel.tsx";
import { Time } from "../../ui/Time.tsx";
import css from "./Timeline.module.css";

export function Timeline({ job, attempts }: { job: Job; attempts: readonly Attempt[] }): JSX.Element | null {
  const isOver = job.finished_at !== null;
  const spans = spansOf(job, attempts, isOver ? Date.parse(job.finished_at ?? "") : now.value);
  const places = placesOf(spans);
  const first = spans[0];
  const last = spans.at(-1);
  if (first === undefined || last === undefined) return null;
  const waited = spans
    .filter(({ kind }) => kind !== "run" && kind !== "planned")
    .reduce((sum, { from, to }) => sum + to - from, 0);
  const ran = spans.filter(({ kind }) => kind === "run").reduce((sum, { from, to }) => sum + to - from, 0);
  return (
    <Panel title="Timeline" note={`waited ${duration(waited)}, ran ${duration(ran)}`}>
      <ol class={css["strip"]} aria-label="Timeline">
        {spans.map((span, index) => (
          <li
            key={`${span.kind} ${span.from}`}
            class={`${css["span"]} ${css[span.kind] ?? ""} ${css[span.attempt?.status ?? ""] ?? ""}`}
            style={{ left: `${places[index]?.left ?? 0}%`, width: `max(3px, ${places[index]?.width ?? 0}%)` }}
            title={`${span.label}: ${duration(span.to - span.from)}`}
          >
            <span class="visually-hidden">{`${span.label}, ${duration(span.to - span.from)}`}</span>
          </li>
        ))}
      </ol>
      <p class={css["ends"]}>
        <span>
          created <Time at={job.created_at} />
        </span>
        <span>
          {isOver ? "ended " : last.kind === "planned" ? "due " : "now"}
          {(isOver || last.kind === "planned") && <Time at={isOver ? job.finished_at : job.run_at} />}
        </span>
      </p>
      <p class={css["legend"]} aria-hidden="true">
        <span class={css["waiting"]}>wait</span>
        <span class={css["backoff"]}>backoff</span>
        <span class={css["run"]}>run</span>
        <span class={`${css["run"]} ${css["failed"]}`}>failed run</span>
        {last.kind === "planned" && <span class={css["planned"]}>planned</span>}
      </p>
    </Panel>
  );
}
