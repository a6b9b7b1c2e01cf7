/** The life of a job as spans of time: what it waited for and when it ran. */

export interface TimelineJob {
  readonly status: string;
  readonly created_at: string;
  readonly run_at: string;
  readonly finished_at: string | null;
}

export interface TimelineAttempt {
  readonly attempt_no: number;
  readonly status: string;
  readonly started_at: string;
  readonly finished_at: string | null;
}

export interface Span {
  readonly kind: "scheduled" | "waiting" | "backoff" | "run" | "planned";
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly attempt?: TimelineAttempt;
}

/** The spans in their order, without gaps, from the creation until the end or now. A planned retry follows in grey. */
export function spansOf(job: TimelineJob, attempts: readonly TimelineAttempt[], now: number): Span[] {
  const spans: Span[] = [];
  let at = Date.parse(job.created_at);
  const add = (kind: Span["kind"], to: number, label: string, attempt?: TimelineAttempt): void => {
    if (to > at) spans.push({ kind, from: at, to, label, ...(attempt && { attempt }) });
    at = Math.max(at, to);
  };
  const sorted = [...attempts].sort((a, b) => a.attempt_no - b.attempt_no);
  for (const attempt of sorted) {
    const started = Date.parse(attempt.started_at);
    if (spans.length === 0) add("waiting", started, "waited for its start");
    else add("backoff", started, "waited for the retry");
    const ended = attempt.finished_at === null ? now : Date.parse(attempt.finished_at);
    // A run that took no measurable time is still a run.
    add("run", Math.max(ended, started + 1), `attempt ${attempt.attempt_no}: ${attempt.status}`, attempt);
  }
  if (job.status !== "queued") return spans;
  const due = Date.parse(job.run_at);
  add(
    sorted.length > 0 ? "backoff" : due > now ? "scheduled" : "waiting",
    now,
    sorted.length > 0 ? "waits for the retry" : "waits",
  );
  add("planned", due, sorted.length > 0 ? "the next attempt is due" : "becomes due");
  return spans;
}

/** Where a span is drawn, in percent of the whole. A short span stays visible. */
export function placesOf(spans: readonly Span[]): { readonly left: number; readonly width: number }[] {
  const from = spans[0]?.from ?? 0;
  const all = Math.max(1, (spans.at(-1)?.to ?? 1) - from);
  return spans.map((span) => ({
    left: ((span.from - from) / all) * 100,
    width: ((span.to - span.from) / all) * 100,
  }));
}
