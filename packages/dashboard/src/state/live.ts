/**
 * The live stream. It says that something changed; the pages then read again what they show. One stream per visible
 * page, closed while the page is hidden: a browser has six connections per host.
 */
import { type Signal, signal } from "@preact/signals";
import type { QueryClient } from "@tanstack/preact-query";
import { apiBase } from "../api/client.ts";

export type LiveState = "connecting" | "live" | "paused" | "lost";

export const liveState: Signal<LiveState> = signal("connecting");
/** When the last event arrived, or the stream opened. */
export const heardAt: Signal<number> = signal(Date.now());
/** Jobs that finished since the stream opened, newest last. Pages patch the rows that they show. */
export const finished: Signal<readonly FinishedJob[]> = signal([]);
/** How often something changed. Pages that announce new rows compare it. */
export const changes: Signal<number> = signal(0);

export interface FinishedJob {
  readonly id: string;
  readonly status: string;
  readonly finished_at: string;
  readonly attempts: number;
  readonly last_error: string | null;
}

/** The shortest time between two reads of the same data, however much happens. */
const restMs = 1500;
const mostRemembered = 500;

let source: EventSource | undefined;
let opened: string | undefined;
let due: ReturnType<typeof setTimeout> | undefined;
let arrived: FinishedJob[] = [];

/** Follows the stream for one tenant, or for all that the caller may see. */
export function follow(client: QueryClient, tenant: string | undefined): () => void {
  const open = (): void => {
    close();
    if (liveState.value === "paused" || document.visibilityState === "hidden") return;
    opened = tenant === undefined ? "v1/stream" : `v1/stream?tenant_id=${encodeURIComponent(tenant)}`;
    liveState.value = "connecting";
    source = new EventSource(`${apiBase}/${opened}`);
    source.addEventListener("open", () => {
      liveState.value = "live";
      heardAt.value = Date.now();
      refresh(client);
    });
    source.addEventListener("changed", () => heard(client));
    source.addEventListener("finished", (event) => heard(client, event.data));
    source.addEventListener("end", () => close("lost"));
    source.addEventListener("error", () => {
      liveState.value = "lost";
      // A browser gives up after an error status. A later try may find the server again.
      if (source?.readyState === EventSource.CLOSED) setTimeout(open, 5000);
    });
  };
  const shown = (): void => (document.visibilityState === "visible" ? open() : close());
  const stopWatching = liveState.subscribe((state) => {
    if (state === "paused") close();
  });
  reopen = open;
  document.addEventListener("visibilitychange", shown);
  open();
  return () => {
    document.removeEventListener("visibilitychange", shown);
    stopWatching();
    reopen = undefined;
    close();
  };
}

let reopen: (() => void) | undefined;

/** Stops following until it is called again. */
export function toggleLive(): void {
  if (liveState.value === "paused") {
    liveState.value = "connecting";
    reopen?.();
  } else liveState.value = "paused";
}

function close(state?: LiveState): void {
  source?.close();
  source = undefined;
  if (state !== undefined) liveState.value = state;
}

function heard(client: QueryClient, data?: unknown): void {
  heardAt.value = Date.now();
  if (typeof data === "string") {
    const job = finishedOf(data);
    if (job !== undefined) arrived.push(job);
    if (arrived.length > mostRemembered) arrived = arrived.slice(-mostRemembered);
  }
  refresh(client);
}

/** Reads again what the page shows, at most once in each rest. */
function refresh(client: QueryClient): void {
  if (due !== undefined) return;
  due = setTimeout(() => {
    due = undefined;
    if (isBusy()) return refresh(client);
    changes.value += 1;
    if (arrived.length > 0) {
      finished.value = arrived;
      arrived = [];
    }
    void client.invalidateQueries({ predicate: ({ meta }) => meta?.["live"] === true });
  }, restMs);
}

/** Nothing moves while the user marks text or has a menu or a dialog open. */
function isBusy(): boolean {
  if (liveState.value === "paused") return false;
  return document.querySelector("dialog[open], [popover]:popover-open") !== null || isMarking();
}

function isMarking(): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && selection.toString().length > 0;
}

function finishedOf(data: string): FinishedJob | undefined {
  try {
    const job = JSON.parse(data) as Partial<FinishedJob> | null;
    const isJob = typeof job?.id === "string" && typeof job.status === "string";
    return isJob ? (job as FinishedJob) : undefined;
  } catch {
    return undefined;
  }
}
