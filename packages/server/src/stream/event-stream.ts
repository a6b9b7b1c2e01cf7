/**
 * One client's stream as a response with server-sent events. Keeps the messages that arrive before the response
 * begins.
 */
import type { Message } from "./group.ts";

/**
 * How many messages, and how many bytes of them, may wait for a slow client. Above that it is cut off; it reconnects
 * with its cursor. The first messages are always sent, so that a client with a cursor makes progress.
 */
const maxWaitingMessages = 2000;
const maxWaitingBytes = 1024 * 1024;
const heartbeatMs = 15_000;
/** How long a client waits before it reconnects. */
const reconnectMs = 2000;

export const eventHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Without this header, a proxy may hold back events to send many at once.
  "x-accel-buffering": "no",
};

export class EventStream {
  readonly #early: Message[] = [];
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #end: () => void = () => undefined;

  readonly send = (messages: readonly Message[]): void => {
    if (this.#controller === undefined) {
      this.#early.push(...messages);
      return;
    }
    for (const message of messages) this.#write(textOf(message));
    if (messages.some(({ event }) => event === "end")) this.#end();
  };

  /** Begins the response. It ends when one of the signals is aborted, and then calls `leave`. */
  respond(first: readonly Message[], signals: readonly AbortSignal[], leave: () => void): Response {
    const heartbeat = setInterval(() => this.#write(": here\n\n"), heartbeatMs);
    const end = (): void => this.#end();
    let ended = false;
    const cleanUp = (): void => {
      clearInterval(heartbeat);
      for (const signal of signals) signal.removeEventListener("abort", end);
      leave();
    };
    this.#end = () => {
      if (ended) return;
      ended = true;
      cleanUp();
      this.#controller?.close();
    };
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          this.#enqueue(`retry: ${reconnectMs}\n\n`);
          for (const message of first) this.#enqueue(textOf(message));
          this.send(this.#early);
        },
        cancel: () => {
          ended = true;
          cleanUp();
        },
      },
      {
        highWaterMark: maxWaitingBytes,
        // A short message counts as the part of the bytes that each of the most messages has.
        size: ({ byteLength }) => Math.max(byteLength, maxWaitingBytes / maxWaitingMessages),
      },
    );
    for (const signal of signals) signal.addEventListener("abort", end);
    if (signals.some(({ aborted }) => aborted)) end();
    return new Response(body, { headers: eventHeaders });
  }

  #write(text: string): void {
    if ((this.#controller?.desiredSize ?? 0) <= 0) this.#end();
    else this.#enqueue(text);
  }

  #enqueue(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }
}

function textOf({ event, id, data }: Message): string {
  return `event: ${event}\n${id === "" ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
