/** A client for server-sent events. Reads them as a browser does. */

export interface StreamEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

export interface Events extends AsyncDisposable {
  readonly status: number;
  /** All events so far. */
  readonly all: readonly StreamEvent[];
  /** Whether the server has ended the stream. */
  readonly ended: boolean;
  /** Resolves with the next wanted event. Each event is returned once. */
  next(wanted: (event: StreamEvent) => boolean): Promise<StreamEvent>;
  /** Resolves when the server has ended the stream. */
  end(): Promise<void>;
}

export async function openEvents(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<Events> {
  const abort = new AbortController();
  const response = await fetch(url, {
    headers: { ...headers, authorization: `Bearer ${token}` },
    signal: abort.signal,
  });
  const all: StreamEvent[] = [];
  const waiting = new Set<() => void>();
  const state = { ended: false };
  const wake = (): void => {
    for (const each of waiting) each();
  };
  const reading = read(response, (event) => {
    all.push(event);
    wake();
  }).then(() => {
    state.ended = true;
    wake();
  });
  const until = async <T>(look: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (state.ended) throw new Error("The stream has ended");
      await new Promise<void>((resolve) => waiting.add(resolve));
    }
  };
  let from = 0;
  return {
    status: response.status,
    all,
    get ended() {
      return state.ended;
    },
    next: (wanted) =>
      until(() => {
        const at = all.findIndex((event, index) => index >= from && wanted(event));
        if (at >= 0) from = at + 1;
        return all[at];
      }),
    end: () => reading,
    [Symbol.asyncDispose]: async () => {
      abort.abort();
      await reading;
    },
  };
}

async function read(response: Response, found: (event: StreamEvent) => void): Promise<void> {
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const lines = block.split("\n").map((line) => /^(\w+): (.*)$/.exec(line) ?? []);
        const fields = Object.fromEntries(lines.map(([, name = "", value = ""]) => [name, value]));
        const { event, id = "", data = "null" } = fields;
        if (event !== undefined) found({ event, id, data: JSON.parse(data) as Record<string, unknown> });
      }
    }
  } catch {
    // The test or the server closed the connection.
  }
}
