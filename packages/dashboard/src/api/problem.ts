/** What went wrong with a request, in the words of the server. */

export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    /** 0: no response arrived. */
    readonly status: number,
    readonly title: string,
    detail: string,
    readonly code?: string,
    readonly hint?: string,
    readonly retryAfterMs?: number,
    readonly traceId?: string,
  ) {
    super(detail);
  }
}

interface ProblemBody {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly hint?: string;
}

export async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  const body = parsed(text);
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const traceId = response.headers.get("traceparent")?.split("-")[1];
  return new Problem(
    response.status,
    body.title ?? (response.statusText || `Status ${response.status}`),
    body.detail ?? "The server gave no reason.",
    body.code,
    body.hint,
    Number.isFinite(seconds) ? seconds * 1000 : undefined,
    traceId,
  );
}

function parsed(text: string): ProblemBody {
  try {
    return (JSON.parse(text) ?? {}) as ProblemBody;
  } catch {
    return {};
  }
}

export function unreachable(error: unknown): Problem {
  const cause = error instanceof Error ? error.message : String(error);
  return new Problem(0, "Not connected", `The server did not respond (${cause}).`);
}

export function problemFrom(error: unknown): Problem {
  return error instanceof Problem ? error : unreachable(error);
}
