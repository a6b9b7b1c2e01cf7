/** Artifacts: read from the store of this client, or else through the server; stored so that they are deleted later. */
import { checkTenant } from "../arguments/names.ts";
import { checkRange, checkUuid } from "../arguments/values.ts";
import { InvalidArgumentError } from "../errors.ts";
import { ArtifactNotFoundError, ArtifactStoreRequiredError } from "../sdk-errors.ts";
import type { Transport } from "../transport/transport.ts";
import { type ArtifactStore, artifactRef, parseArtifactKey, parseArtifactRef } from "./store.ts";
import {
  checkOffloadable,
  isStoredValue,
  readStoredValue,
  type StoredValue,
  storedValue,
} from "./stored-value.ts";
import { type SweepResult, sweepArtifacts } from "./sweep.ts";

export interface ArtifactOptions {
  /** The tenant that owns the artifact. An artifact of another tenant does not exist for it. */
  readonly tenantId: string;
  readonly signal?: AbortSignal | undefined;
}

export interface PutArtifactOptions extends ArtifactOptions {
  /** The job whose artifact it is. It is deleted when the job is forgotten. */
  readonly jobId: string;
  /** Default `application/octet-stream`. */
  readonly contentType?: string | undefined;
}

/** What an offloaded value belongs to: a result to its job, a payload to the job that is enqueued next. */
export interface OffloadOptions extends ArtifactOptions {
  readonly area: "payloads" | "results";
  readonly name: string;
  readonly jobId?: string | undefined;
}

export class Artifacts {
  /** The store of this client, if it has one. */
  readonly store: ArtifactStore | undefined;
  readonly #transport: Transport;

  /** The transport must not be a transaction: a note that is rolled back would leave a content for ever. */
  constructor(transport: Transport, store: ArtifactStore | undefined) {
    this.#transport = transport;
    this.store = store;
  }

  /**
   * The content of an artifact, such as `artifact_ref` of a report. Rejects with an ArtifactNotFoundError if the tenant
   * has no such artifact. Without a store, a client over HTTP asks the server.
   */
  async get(ref: string, { tenantId, signal }: ArtifactOptions): Promise<AsyncIterable<Buffer>> {
    checkTenant(tenantId);
    const key = parseArtifactRef(ref);
    if (key === undefined || key.tenantId !== tenantId.toLowerCase()) throw new ArtifactNotFoundError(ref);
    if (this.store !== undefined) return await read(this.store, artifactRef(key), signal);
    const { area, id, name } = key;
    const path = `/v1/artifacts/${area}/${id}/${name}?tenant_id=${key.tenantId}`;
    if (this.#transport.download === undefined) throw new ArtifactStoreRequiredError();
    const content = await this.#transport.download(path, { signal });
    if (content === undefined) throw new ArtifactNotFoundError(ref);
    return content;
  }

  /** The whole content as bytes. */
  async bytes(ref: string, options: ArtifactOptions): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of await this.get(ref, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** The whole content as text. */
  async text(ref: string, options: ArtifactOptions): Promise<string> {
    return (await this.bytes(ref, options)).toString("utf8");
  }

  /** A link to the content for some seconds. Undefined if the store cannot make one. */
  async url(ref: string, seconds: number, { tenantId }: ArtifactOptions): Promise<string | undefined> {
    checkTenant(tenantId);
    if (this.store === undefined) throw new ArtifactStoreRequiredError();
    if (parseArtifactRef(ref)?.tenantId !== tenantId.toLowerCase()) throw new ArtifactNotFoundError(ref);
    return await this.store.url?.(ref, seconds);
  }

  /**
   * Stores a content of a job under a name, and returns its reference. The same name again replaces it. It is deleted
   * when the job is forgotten.
   */
  async put(
    name: string,
    content: AsyncIterable<Buffer> | Buffer | string,
    { tenantId, jobId, contentType = "application/octet-stream", signal }: PutArtifactOptions,
  ): Promise<string> {
    checkTenant(tenantId);
    checkUuid(jobId, "jobId");
    const chunks = typeof content === "string" || Buffer.isBuffer(content) ? only(content) : content;
    const key = `files/${tenantId.toLowerCase()}/${jobId.toLowerCase()}/${name}`;
    return (await this.keeping().put(key, chunks, { contentType, signal })).ref;
  }

  /**
   * A store that tells the database of each folder before it puts something there, so that the content is deleted when
   * its job is forgotten, whatever crashes in between. Default: the store of this client.
   */
  keeping(store: ArtifactStore | undefined = this.store): ArtifactStore {
    if (store === undefined) throw new ArtifactStoreRequiredError();
    return {
      put: async (key, content, options) => {
        const parts = parseArtifactKey(key);
        if (parts === undefined)
          throw new InvalidArgumentError(`Invalid argument: ${key} is not the key of an artifact`, {
            field: "name",
            hint: "A name has up to 128 letters, digits, dots, hyphens and underscores.",
          });
        await this.#note(parts.area, parts.tenantId, parts.id, options.signal);
        return await store.put(key, content, options);
      },
      get: (ref, signal) => store.get(ref, signal),
      ...(store.url === undefined ? {} : { url: store.url.bind(store) }),
      delete: (ref) => store.delete(ref),
      list: (prefix) => store.list(prefix),
    };
  }

  /** Whether this client can store values: it has a store, or a server that does. */
  canOffload(): boolean {
    return this.store !== undefined || this.#transport.upload !== undefined;
  }

  /** Stores JSON text that is too large for the database, and returns the reference that replaces it. */
  async offload(text: string, { area, name, tenantId, jobId, signal }: OffloadOptions): Promise<StoredValue> {
    const content = checkOffloadable(text, area === "payloads" ? "payload" : "result");
    const contentType = "application/json";
    if (this.store !== undefined) {
      const id = await this.#note(area, tenantId, jobId, signal);
      const key = `${area}/${tenantId.toLowerCase()}/${id}/${name}`;
      return storedValue(await this.store.put(key, only(content), { contentType, signal }));
    }
    // The server stores payloads. A worker needs a store of its own.
    if (this.#transport.upload === undefined || area !== "payloads") throw new ArtifactStoreRequiredError();
    const path = `/v1/artifacts/payloads?tenant_id=${tenantId.toLowerCase()}`;
    return storedValue(await this.#transport.upload(path, content, { signal }));
  }

  /** A payload or result as it was before it was offloaded. Any other value is returned as it is. */
  async resolve(value: unknown, options: ArtifactOptions): Promise<unknown> {
    if (!isStoredValue(value)) return value;
    return await readStoredValue(value, await this.get(value.$artifact, options));
  }

  /**
   * Deletes the artifacts of jobs that are forgotten from the store, up to `limit` jobs (default 100). Workers with a
   * store do this themselves. Needs the rights of a worker or an operator.
   */
  async sweep({ limit = 100, signal }: { limit?: number; signal?: AbortSignal } = {}): Promise<SweepResult> {
    checkRange(limit, "limit", { min: 1, max: 1000 });
    if (this.store === undefined) throw new ArtifactStoreRequiredError();
    return await sweepArtifacts(this.#transport, this.store, limit, signal);
  }

  async #note(
    area: string,
    tenantId: string,
    jobId: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const args = { p_tenant_id: tenantId, p_area: area, p_job_id: jobId };
    const { id } = await this.#transport.call<{ id: string }>("jobforge_note_artifact", args, { signal });
    return id;
  }
}

async function* only(content: Buffer | string): AsyncGenerator<Buffer> {
  yield Buffer.from(content);
}

async function read(
  store: ArtifactStore,
  ref: string,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Buffer>> {
  try {
    return await store.get(ref, signal);
  } catch (error) {
    if ((error as { code?: unknown }).code === "artifact_unavailable") throw new ArtifactNotFoundError(ref);
    throw error;
  }
}
