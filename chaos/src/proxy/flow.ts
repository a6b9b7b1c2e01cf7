/** One direction of a connection. Bytes are forwarded in order: immediately, slowly, or not at all for a while. */
import type { Socket } from "node:net";

export interface NetworkConditions {
  /** Nothing is read or written, so a client that waits for a response keeps waiting. */
  stalled: boolean;
  /** The delay before each chunk is forwarded. 0: none. */
  delayMs: number;
  /** The maximum size of a chunk. 0: as received. */
  chunkBytes: number;
  /** The server's notifications are dropped. */
  dropNotifications: boolean;
}

export class Flow {
  readonly #to: Socket;
  readonly #from: Socket;
  readonly #conditions: () => NetworkConditions;
  readonly #queue: Buffer[] = [];
  #isEnded = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    from: Socket,
    to: Socket,
    conditions: () => NetworkConditions,
    filter: (chunk: Buffer) => Buffer = (chunk) => chunk,
  ) {
    this.#from = from;
    this.#to = to;
    this.#conditions = conditions;
    from.on("data", (chunk: Buffer) => {
      const bytes = filter(chunk);
      if (bytes.length > 0) this.#queue.push(bytes);
      this.pump();
    });
    from.on("end", () => {
      this.#isEnded = true;
      this.pump();
    });
    to.on("drain", () => this.pump());
  }

  /** Forwards as much as the conditions allow. Called again when the conditions change. */
  pump(): void {
    const { stalled, delayMs } = this.#conditions();
    if (stalled) {
      this.#from.pause();
      return;
    }
    if (this.#timer !== undefined) return;
    if (delayMs > 0 && this.#queue.length > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        if (!this.#conditions().stalled) this.#writeOne();
        this.pump();
      }, delayMs);
      return;
    }
    while (this.#queue.length > 0) if (!this.#writeOne()) return;
    this.#from.resume();
    if (this.#isEnded) this.#to.end();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }

  /** Writes one chunk. Returns false if the receiver's buffer is full. */
  #writeOne(): boolean {
    const { chunkBytes } = this.#conditions();
    const next = this.#queue.shift();
    if (next === undefined || this.#to.destroyed) return true;
    const size = chunkBytes > 0 ? chunkBytes : next.length;
    if (next.length > size) this.#queue.unshift(next.subarray(size));
    const isFree = this.#to.write(next.subarray(0, size));
    if (!isFree) this.#from.pause();
    return isFree;
  }
}
