/** What a page shows when it has no data: nothing yet, nothing found, loading, or a problem. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { problemFrom } from "../api/problem.ts";
import { Button } from "./Button.tsx";
import css from "./States.module.css";

/** Grey bars in the place of the data. They appear only if loading takes a moment. */
export function Skeleton({ rows = 6 }: { rows?: number }): JSX.Element {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={css["skeleton"]} role="status" aria-label="Loading" aria-busy="true">
      {isLate && Array.from({ length: rows }, (_, row) => <div key={row} />)}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class={css["empty"]}>
      <p class={css["title"]}>{title}</p>
      {children}
    </div>
  );
}

/** A problem in the server's words. A panel fails alone; the rest of the page stays. */
export function ProblemNote({ error, onRetry }: { error: unknown; onRetry?: () => void }): JSX.Element {
  const { status, title, message, hint, code, traceId, retryAfterMs } = problemFrom(error);
  const isForbidden = status === 403;
  return (
    <div class={css["problem"]} role="alert">
      <p class={css["title"]}>{isForbidden ? "Your key does not allow this" : title}</p>
      <p>{message}</p>
      {hint && <p>{hint}</p>}
      {retryAfterMs !== undefined && <p>The server asks to wait {Math.ceil(retryAfterMs / 1000)} seconds.</p>}
      <p class={css["codes"]}>
        {[status > 0 ? `HTTP ${status}` : undefined, code, traceId && `trace ${traceId}`]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {onRetry && !isForbidden && (
        <Button icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** Shows the data of a query once it is there; a later failure is said above the old data. */
export function Load<T>({
  query,
  rows,
  children,
}: {
  query: Loaded<T>;
  rows?: number;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { data, error, refetch } = query;
  return (
    <>
      {error !== null && error !== undefined && <ProblemNote error={error} onRetry={() => void refetch()} />}
      {data !== undefined ? children(data) : !error && <Skeleton {...(rows === undefined ? {} : { rows })} />}
    </>
  );
}
