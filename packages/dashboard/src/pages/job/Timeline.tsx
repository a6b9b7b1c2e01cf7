/** The life of a job to scale: waits, runs, and the retry that is planned. */
import { useQuery } from "@tanstack/preact-query";
import type { JSX } from "preact";
import { api, bodyOf } from "../../api/client.ts";
import type { Attempt } from "../../api/job.ts";
import type { Job } from "../../api/jobs.ts";
import { useMay } from "../../api/session.ts";
import { duration } from "../../lib/format.ts";
import { ladderOf } from "../../lib/ladder.ts";
import { placesOf, type Span, spansOf } from "../../lib/timeline.ts";
import { now } from "../../state/settings.ts";
import { Panel } from "../../ui/Panel.tsx";
import { Time } from "../../ui/Time.tsx";
import css from "./Timeline.module.css";

interface Kind {
  readonly word: string;
  readonly classes: readonly string[];
  readonly is: (span: Span) => boolean;
}

const hasFailed = ({ attempt }: Span): boolean => ["failed", "lost"].includes(attempt?.status ?? "");

/** What the colours mean. Only those that are there are explained. */
const legend: readonly Kind[] = [
  { word: "wait", classes: ["waiting"], is: ({ kind }) => kind === "waiting" || kind === "scheduled" },
  { word: "backoff", classes: ["backoff"], is: ({ kind }) => kind === "backoff" },
  { word: "run", classes: ["run"], is: (span) => span.kind === "run" && !hasFailed(span) },
  { word: "failed run", classes: ["run", "failed"], is: (span) => span.kind === "run" && hasFailed(span) },
  { word: "planned", classes: ["planned"], is: ({ kind }) => kind === "planned" },
];

export function Timeline({ job, attempts }: { job: Job; attempts: readonly Attempt[] }): JSX.Element | null {
  const may = useMay();
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
        {legend
          .filter(({ is }) => spans.some(is))
          .map(({ word, classes }) => (
            <span key={word} class={classes.map((each) => css[each]).join(" ")}>
              {word}
            </span>
          ))}
      </p>
      {may("get_policy") && !isOver && <ToCome job={job} />}
    </Panel>
  );
}

/** The waits after each attempt that may still fail. */
function ToCome({ job }: { job: Job }): JSX.Element | null {
  const { type, attempts, uncounted, max_attempts } = job;
  const policy = useQuery({
    queryKey: ["policy", type],
    queryFn: () => bodyOf(api.GET("/v1/types/{type}/policy", { params: { path: { type } } })),
    staleTime: 60_000,
  });
  if (policy.data === undefined) return null;
  const ended = Math.max(0, attempts - uncounted - (job.status === "running" ? 1 : 0));
  const waits = ladderOf({ ...policy.data, max_attempts }).slice(ended);
  return (
    <p class={css["toCome"]}>
      {waits.length === 0
        ? "If the next attempt fails, the job is dead."
        : `If attempts fail, the next ones wait ${waits.map((wait) => duration(wait)).join(", ")}; then the job is dead.`}
    </p>
  );
}
