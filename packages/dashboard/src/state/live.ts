/**
 * The live stream. It says that something changed; the pages then read again what they show. One stream per visible
 * page, closed while the page is hidden: a browser has six connections per host.
 */
import { type Signal, signal } from "@preact/signals";
import type { Query, QueryClient } from "@tanstack/preact-query";
import { apiBase } from "../api/client.ts";

export type LiveState = "connecting" | "live" | "paused" | "lost";

export const liveState: Signal<LiveState> = signal("connecting");
/** When the last event arrived, or the stream opened. */
export const heardAt: Signal<number> = signal(Date.now());
/** Jobs that finished since the stream opened, newest last. Pages patch the rows that they show. */
export const finished: Signal<readonly FinishedJob[]> = signal([]);

export interface FinishedJob {
  readonly id: string;
  readonly status: string;
  readonly finished_at: string;
  readonly attempts: number;
  readonly last_error: string | null;
}

/** The shortest time between two reads of the same data, however much happens. */
const restMs = 1500;
/** What happens together is read together. */
const gatherMs = 150;
const mostRemembered = 500;

let source: EventSource | undefined;
let opened: string | undefined;
let due: ReturnType<typeof setTimeout> | undefined;
/** When the data was last read again. */
let readAt = 0;
let arrived: FinishedJob[] = [];
/** A person has set something since the last read. */
let settingsChanged = false;
/** Lists that no job changes, only people. */
const settings: readonly unknown[] = ["audit", "policy", "tenants", "tokens"];

/** Follows the stream for one tenant, or for all that the caller may see. */
export function follow(client: QueryClient, tenant: string | undefined): () => void {
  const open = (): void => {
    close();
    if (liveState.value === "paused" || document.visibilityState === "hidden") return;
    const of = tenant === undefined ? "" : `&tenant_id=${encodeURIComponent(tenant)}`;
    opened = `v1/stream?changes=true${of}`;
    liveState.value = "connecting";
    source = new EventSource(`${apiBase}/${opened}`);
    source.addEventListener("open", () => {
      liveState.value = "live";
      heardAt.value = Date.now();
      refresh(client);
    });
    source.addEventListener("changed", () => heard(client));
    source.addEventListener("changes", () => {
      settingsChanged = true;
      heard(client);
    });
    source.addEventListener("finished", (event) => heard(client, event.data));
    source.addEventListener("end", () => close("lost"));
    source.addEventListener("error", () => {
      liveState.value = "lost";
      // A browser gives up after an error status. A later try may find the server again.
      if (source?.readyState === EventSource.CLOSED) setTimeout(open, 5000);
    });
  };
  // The page reads everything as it opens. The stream need not make it do so again at once.
  readAt = Date.now();
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
  // A page that is not seen reads nothing again. It does when the stream opens.
  clearTimeout(due);
  due = undefined;
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

/** Reads again what the page shows: soon after a quiet time, and else at most once in each rest. */
function refresh(client: QueryClient): void {
  if (due !== undefined) return;
  const rest = readAt + restMs - Date.now();
  readLater(client, Math.min(restMs, Math.max(gatherMs, rest)));
}

function readLater(client: QueryClient, ms: number): void {
  due = setTimeout(() => read(client), ms);
}

function read(client: QueryClient): void {
  due = undefined;
  if (isBusy()) {
    readLater(client, restMs);
    return;
  }
  if (arrived.length > 0) {
    finished.value = arrived;
    arrived = [];
  }
  // A read that is on its way is not begun anew: with a slow server, none would ever come to its end.
  if (client.isFetching({ predicate: isLive }) > 0) {
    readLater(client, gatherMs);
    return;
  }
  readAt = Date.now();
  const withSettings = settingsChanged;
  settingsChanged = false;
  void client.invalidateQueries({
    predicate: (query) => isLive(query) || (withSettings && settings.includes(query.queryKey[0])),
  });
}

function isLive({ meta }: Pick<Query, "meta">): boolean {
  return meta?.["live"] === true;
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
