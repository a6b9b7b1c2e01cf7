/**
 * The contract of artifact stores. Artifacts are large contents outside the database, such as reports. Jobs and results
 * contain references to them. `@jobforge/connectors` has stores for files and for S3.
 */

export interface StoredArtifact {
  /** The reference: `artifact:` and the key. It is the same in every store. */
  readonly ref: string;
  readonly bytes: number;
  /** The SHA-256 of the content, in hexadecimal. */
  readonly sha256: string;
}

export interface PutOptions {
  readonly contentType: string;
  readonly signal?: AbortSignal | undefined;
}

export interface ListedArtifact {
  readonly ref: string;
  readonly bytes: number;
  readonly modifiedAt: Date;
}

export interface ArtifactStore {
  /** Stores a stream under a key, completely or not at all. An artifact with this key is replaced. */
  put(key: string, content: AsyncIterable<Buffer>, options: PutOptions): Promise<StoredArtifact>;
  /** Resolves to the content. Rejects with an error of code `artifact_unavailable` if there is no such artifact. */
  get(ref: string, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /** A link to the content for some seconds, if the store can make one. */
  url?(ref: string, seconds: number): Promise<string>;
  /** Does nothing if there is no such artifact. */
  delete(ref: string): Promise<void>;
  /** The artifacts whose key begins with the prefix. */
  list(prefix: string): AsyncIterable<ListedArtifact>;
}

/** The parts of a key: what kind of artifact it is, whose it is, the job, and its name. */
export interface ArtifactKey {
  readonly area: string;
  readonly tenantId: string;
  /** The id of the job; in the area `payloads`, an id that was made before the job had one. */
  readonly id: string;
  readonly name: string;
}

const scheme = "artifact:";
/** Four parts, such as `reports/<tenant>/<job>/usage.csv`, so that a key has an owner. */
const keyForm = /^[a-z]+(?:\/[A-Za-z0-9._-]{1,128}){3}$/;

/** Reads a key, such as `reports/<tenant>/<job>/usage.csv`. Undefined if it is malformed or leads elsewhere. */
export function parseArtifactKey(key: string): ArtifactKey | undefined {
  const parts = key.split("/");
  if (!keyForm.test(key) || parts.some((part) => /^\.+$/.test(part))) return undefined;
  const [area = "", tenantId = "", id = "", name = ""] = parts;
  return { area, tenantId, id, name };
}

/** Reads a reference, such as `artifact:reports/<tenant>/<job>/usage.csv`. Undefined if it is malformed. */
export function parseArtifactRef(ref: string): ArtifactKey | undefined {
  return ref.startsWith(scheme) ? parseArtifactKey(ref.slice(scheme.length)) : undefined;
}

export function artifactRef({ area, tenantId, id, name }: ArtifactKey): string {
  return `${scheme}${area}/${tenantId}/${id}/${name}`;
}
