/** One direction of a connection: bytes go on in order, at once, slowly, or not at all for a while. */
import type { Socket } from "node:net";

export interface Weather {
  /** Nothing is read or written. Whoever waits for an answer waits. */
  stalled: boolean;
  /** Milliseconds before each chunk is handed on, and how many bytes a chunk has at most; 0 is as it comes. */
  delayMs: number;
  chunkBytes: number;
  /** The server's notifications are swallowed. */
  dropNotifications: boolean;
}

export class Flow {
  readonly #to: Socket;
  readonly #from: Socket;
  readonly #weather: () => Weather;
  readonly #queue: Buffer[] = [];
  #isEnded = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    from: Socket,
    to: Socket,
    weather: () => Weather,
    filter: (chunk: Buffer) => Buffer = (chunk) => chunk,
  ) {
    this.#from = from;
    this.#to = to;
    this.#weather = weather;
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

  /** Hands on what may go. Called again when the weather changes. */
  pump(): void {
    const { stalled, delayMs } = this.#weather();
    if (stalled) {
      this.#from.pause();
      return;
    }
    if (this.#timer !== undefined) return;
    if (delayMs > 0 && this.#queue.length > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        if (!this.#weather().stalled) this.#writeOne();
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

  /** False when the receiver is full. */
  #writeOne(): boolean {
    const { chunkBytes } = this.#weather();
    const next = this.#queue.shift();
    if (next === undefined || this.#to.destroyed) return true;
    const size = chunkBytes > 0 ? chunkBytes : next.length;
    if (next.length > size) this.#queue.unshift(next.subarray(size));
    const isFree = this.#to.write(next.subarray(0, size));
    if (!isFree) this.#from.pause();
    return isFree;
  }
}
