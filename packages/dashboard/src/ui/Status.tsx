/** How a job is doing, as a shape and a word. The colour only repeats them. */
import type { JSX } from "preact";
import type { State } from "../lib/filter.ts";
import css from "./Status.module.css";

export type StatusWord =
  | State
  | "due"
  | "scheduled"
  | "retrying"
  | "lost"
  | "deferred"
  | "released"
  | StepWord;
/** Words that only steps of workflows have. */
type StepWord = "blocked" | "waiting" | "open" | "skipped";

/** Each status has its own shape, for readers who do not see the difference between two colours. */
const shapes: Readonly<Record<StatusWord, JSX.Element>> = {
  queued: <circle cx="6" cy="6" r="4.2" />,
  due: <circle cx="6" cy="6" r="4.2" />,
  scheduled: (
    <>
      <circle cx="6" cy="6" r="4.2" />
      <path d="M6 3.5V6l1.6 1.2" />
    </>
  ),
  retrying: <path d="M10 6a4 4 0 1 1-1.3-3M10 1.3V3.5H7.8" />,
  running: (
    <>
      <circle cx="6" cy="6" r="4.2" />
      <path class={css["half"]} d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" />
    </>
  ),
  succeeded: <path d="M2 6.3 4.8 9 10 3" />,
  failed: <path d="M6 1.5 10.5 6 6 10.5 1.5 6zM6 4v2.3M6 7.9v.1" />,
  dead: (
    <>
      <rect class={css["filled"]} x="1.5" y="1.5" width="9" height="9" rx="1.5" />
      <path class={css["cut"]} d="M4 4l4 4M8 4 4 8" />
    </>
  ),
  canceled: <path d="M6 10.2A4.2 4.2 0 1 0 6 1.8a4.2 4.2 0 0 0 0 8.4zM3 9l6-6" />,
  lost: <path d="M2 6h2M5.5 6h1M8 6h2" />,
  deferred: <path d="M3 2.5v7M5.5 6h5M8.5 4l2 2-2 2" />,
  released: <path d="M9 2.5v7M6.5 6h-5M3.5 4l-2 2 2 2" />,
  blocked: <path d="M3.5 5.5V4a2.5 2.5 0 0 1 5 0v1.5M2.5 5.5h7v5h-7z" />,
  waiting: <path d="M3 1.8h6M3 10.2h6M3.5 1.8c0 4 5 4.4 5 8.4M8.5 1.8c0 4-5 4.4-5 8.4" />,
  open: <path d="M2 4.5h8v5.7H2zM4 4.5V1.8h6" />,
  skipped: <path d="M2 2.5 6 6 2 9.5zM6.5 2.5l4 3.5-4 3.5z" />,
};

export function Status({ word, label }: { word: StatusWord; label?: string }): JSX.Element {
  return (
    <span class={`${css["status"]} ${css[word] ?? ""}`}>
      <svg aria-hidden="true" viewBox="0 0 12 12" width="12" height="12">
        {shapes[word]}
      </svg>
      {label ?? word}
    </span>
  );
}

interface Shown {
  readonly status: string;
  readonly attempts: number;
  readonly uncounted?: number;
  readonly run_at: string;
}

/** The word for a job. A queued job waits for its time, for a retry, or for a worker. */
export function wordFor({ status, attempts, uncounted = 0, run_at }: Shown, now: number): StatusWord {
  if (status !== "queued") return status as State;
  if (attempts - uncounted > 0) return "retrying";
  return Date.parse(run_at) > now ? "scheduled" : "due";
}
