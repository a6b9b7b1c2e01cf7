/** Counts and hashes what passes through, because a store reads a stream only once. */
import { createHash } from "node:crypto";

export class Measured {
  readonly #hash = createHash("sha256");
  #bytes = 0;

  async *of(content: AsyncIterable<Buffer>, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
    for await (const chunk of content) {
      signal?.throwIfAborted();
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      yield chunk;
    }
    signal?.throwIfAborted();
  }

  /** Call it once, at the end. */
  facts(): { readonly bytes: number; readonly sha256: string } {
    return { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }
}
