/** An adapter's process: requests and their replies, and the events that it reports unasked. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface Event {
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The call under test failed, and the adapter describes how. */
export class CallFailed extends Error {
  override readonly name = "CallFailed";
  readonly details: Readonly<Record<string, unknown>>;

  constructor(details: Readonly<Record<string, unknown>>) {
    super(`the call failed: ${JSON.stringify(details)}`);
    this.details = details;
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Long enough for a loaded machine. Nothing waits this long unless the adapter is wrong. */
const patienceMs = 120_000;
const keptNoise = 4_000;

export class Program {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  readonly #news = new EventEmitter().setMaxListeners(100);
  readonly ended: Promise<Exit>;
  /** What the program has reported since the last `forget`. */
  events: Event[] = [];
  #noise = "";
  #exit: Exit | undefined;
  #lastId = 0;

  constructor({ command, args, cwd, env }: Command) {
    const child = spawn(command, args, { cwd, env: { ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    // The end of the process is reported by `ended`.
    child.stdin.on("error", () => undefined);
    child.stderr.setEncoding("utf8").on("data", (text: string) => this.#note(text));
    createInterface({ input: child.stdout }).on("line", (line) => this.#hear(line));
    this.ended = new Promise((resolve) => {
      child.on("error", (error) => this.#note(error.message));
      child.on("close", (code, signal) => {
        this.#exit = { code, signal };
        for (const { reject } of this.#waiting.values()) reject(this.#failure("the adapter has ended"));
        this.#news.emit("heard");
        resolve(this.#exit);
      });
    });
  }

  get hasEnded(): boolean {
    return this.#exit !== undefined;
  }

  /** Sends a request. Resolves to its reply, and rejects with a CallFailed if the call failed. */
  async request(verb: string, on: string | undefined, args: unknown): Promise<unknown> {
    if (this.hasEnded) throw this.#failure("the adapter has ended");
    this.#lastId += 1;
    const id = this.#lastId;
    const reply = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify({ id, do: verb, on, with: args })}\n`);
    try {
      return await within(reply, () => this.#failure(`no reply to ${verb} ${JSON.stringify(args)}`));
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Resolves when `find` returns something other than undefined for the events so far, now or later. */
  async until<T>(find: (events: Event[]) => T | undefined, what: () => string): Promise<T> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), patienceMs);
    try {
      for (;;) {
        const found = find(this.events);
        if (found !== undefined) return found;
        if (this.hasEnded || stop.signal.aborted) throw this.#failure(what());
        await once(this.#news, "heard", { signal: stop.signal }).catch(() => undefined);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  forget(): void {
    this.events = [];
    this.#noise = "";
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends the program, which exits when its input is closed. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), patienceMs);
    await this.ended;
    clearTimeout(timer);
  }

  #hear(line: string): void {
    const message = parsed(line);
    if (message === undefined) this.#note(`${line}\n`);
    else if ("event" in message) this.events.push(message as Event);
    // Workers write their log lines to standard output.
    else if ("level" in message && "message" in message) this.events.push({ event: "log", ...message });
    else this.#reply(message);
    this.#news.emit("heard");
  }

  #reply({ id, ok, error }: Record<string, unknown>): void {
    const waiting = this.#waiting.get(Number(id));
    if (error === undefined) waiting?.resolve(ok);
    else waiting?.reject(new CallFailed(error as Record<string, unknown>));
  }

  #note(text: string): void {
    this.#noise = (this.#noise + text).slice(-keptNoise);
  }

  #failure(what: string): Error {
    const seen = this.events.map((event) => JSON.stringify(event).slice(0, 300)).slice(-30);
    return new Error(
      [what, ...(this.#exit ? [JSON.stringify(this.#exit)] : []), "Events:", ...seen, this.#noise].join("\n"),
    );
  }
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === "object" && message !== null ? { ...message } : undefined;
  } catch {
    return undefined;
  }
}

async function within<T>(promise: Promise<T>, failure: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(failure()), patienceMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
