/** Reads artifacts: from the store of this client, or else through the server. */
import { checkTenant } from "../arguments/names.ts";
import { ArtifactNotFoundError, ArtifactStoreRequiredError } from "../errors.ts";
import type { Transport } from "../transport/transport.ts";
import { type ArtifactStore, artifactRef, parseArtifactRef } from "./store.ts";

export interface ArtifactOptions {
  /** The tenant that owns the artifact. An artifact of another tenant does not exist for it. */
  readonly tenantId: string;
  readonly signal?: AbortSignal | undefined;
}

export class Artifacts {
  /** The store of this client, if it has one. */
  readonly store: ArtifactStore | undefined;
  readonly #transport: Transport;

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
