/** The messages of a server to its client, cut out of a stream of bytes: a type, a length, and a body. */

const HEADER_BYTES = 5;
const NOTIFICATION = "A".charCodeAt(0);

/** Cuts a backend's bytes into whole messages, and leaves out those that are not wanted. */
export class BackendMessages {
  #rest: Buffer = Buffer.alloc(0);

  /** The whole messages so far, without notifications if they are to be lost. What is incomplete waits for more. */
  take(chunk: Buffer, dropNotifications: boolean): { readonly bytes: Buffer; readonly dropped: number } {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const kept: Buffer[] = [];
    let [from, at, dropped] = [0, 0, 0];
    for (;;) {
      if (data.length < at + HEADER_BYTES) break;
      const end = at + 1 + data.readUInt32BE(at + 1);
      if (data.length < end) break;
      if (dropNotifications && data[at] === NOTIFICATION) {
        kept.push(data.subarray(from, at));
        from = end;
        dropped += 1;
      }
      at = end;
    }
    kept.push(data.subarray(from, at));
    this.#rest = data.subarray(at);
    return { bytes: kept.length === 1 ? data.subarray(from, at) : Buffer.concat(kept), dropped };
  }
}
