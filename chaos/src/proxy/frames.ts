/** Splits the bytes from a server to its client into messages. Each message has a type, a length, and a body. */

const headerBytes = 5;
/** The type of a NotificationResponse. */
const notificationType = "A".charCodeAt(0);

/** Splits a backend's bytes into whole messages, and can drop notifications. */
export class BackendMessages {
  #rest: Buffer = Buffer.alloc(0);

  /**
   * Returns all complete messages, optionally without notifications. An incomplete message waits for the next chunk.
   */
  take(chunk: Buffer, dropNotifications: boolean): { readonly bytes: Buffer; readonly dropped: number } {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const kept: Buffer[] = [];
    let [from, at, dropped] = [0, 0, 0];
    for (;;) {
      if (data.length < at + headerBytes) break;
      const end = at + 1 + data.readUInt32BE(at + 1);
      if (data.length < end) break;
      if (dropNotifications && data[at] === notificationType) {
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
