/** Collects the text of one format: in memory while it is small, and in the artifact store from then on. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import type { ArtifactStore, StoredArtifact } from "@jobforge/sdk-ts";

export interface Collected {
  readonly bytes: number;
  readonly sha256: string;
  /** The text, if it was small. */
  readonly text?: string | undefined;
  readonly ref?: string | undefined;
}

export class Sink {
  readonly #open: (content: AsyncIterable<Buffer>) => Promise<StoredArtifact>;
  readonly #maxBytes: number;
  readonly #hash = createHash("sha256");
  #bytes = 0;
  #kept: Buffer[] = [];
  #stream: PassThrough | undefined;
  #stored: Promise<StoredArtifact> | undefined;

  constructor(store: ArtifactStore, key: string, contentType: string, maxBytes: number, signal: AbortSignal) {
    this.#open = (content) => store.put(key, content, { contentType, signal });
    this.#maxBytes = maxBytes;
  }

  /** Resolves when the store can take more. */
  async write(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    this.#bytes += bytes.length;
    this.#hash.update(bytes);
    if (this.#stream === undefined && this.#bytes <= this.#maxBytes) this.#kept.push(bytes);
    else await this.#send(bytes);
  }

  async end(): Promise<Collected> {
    const facts = { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
    if (this.#stream === undefined) return { ...facts, text: Buffer.concat(this.#kept).toString("utf8") };
    this.#stream.end();
    return { ...facts, ref: (await this.#stored)?.ref };
  }

  /** Drops what was written. The store removes what it has. */
  abandon(reason: Error): void {
    this.#stream?.destroy(reason);
    this.#stored?.catch(() => undefined);
  }

  async #send(bytes: Buffer): Promise<void> {
    if (this.#stream === undefined) {
      this.#stream = new PassThrough();
      this.#stream.on("error", () => undefined);
      this.#stored = this.#open(this.#stream);
      // A store that fails ends the stream, so that the writer does not wait for it.
      this.#stored.catch((error: Error) => this.#stream?.destroy(error));
      this.#stream.write(Buffer.concat(this.#kept));
      this.#kept = [];
    }
    if (this.#stream.destroyed) await this.#stored;
    if (!this.#stream.write(bytes)) await Promise.race([once(this.#stream, "drain"), this.#stored]);
  }
}
