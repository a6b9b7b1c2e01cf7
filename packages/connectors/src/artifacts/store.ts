/** Artifacts: large bodies and reports, kept outside the database. Jobs and results contain references to them. */
import { ConnectorError } from "../errors.ts";

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
  /** Resolves to the content. Rejects with the code `artifact_unavailable` if there is no such artifact. */
  get(ref: string, signal?: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /** A link to the content for some seconds, if the store can make one. */
  url?(ref: string, seconds: number): Promise<string>;
  /** Does nothing if there is no such artifact. */
  delete(ref: string): Promise<void>;
  /** The artifacts whose key begins with the prefix. */
  list(prefix: string): AsyncIterable<ListedArtifact>;
}

const scheme = "artifact:";
/** Four parts, such as `reports/<tenant>/<job>/usage.csv`, so that a key has an owner. */
const keyForm = /^[a-z]+(?:\/[A-Za-z0-9._-]{1,128}){3}$/;

export function refOf(key: string): string {
  return `${scheme}${checkKey(key)}`;
}

/** The key of a reference. Throws if the reference is malformed. */
export function keyOf(ref: string): string {
  if (!ref.startsWith(scheme)) throw notThere();
  return checkKey(ref.slice(scheme.length));
}

/** Returns the key if it is a path of four parts that leads nowhere else. */
export function checkKey(key: string): string {
  if (!keyForm.test(key) || key.split("/").some((part) => /^\.+$/.test(part))) throw notThere();
  return key;
}

/** Throws if the artifact belongs to another tenant, with the error of an artifact that does not exist. */
export function requireOwner(ref: string, tenantId: string): string {
  if (keyOf(ref).split("/")[1] !== tenantId) throw notThere();
  return ref;
}

export function notThere(): ConnectorError {
  return new ConnectorError("artifact_unavailable", "There is no such artifact.");
}
