/** Keeps artifacts in a bucket of S3, or of a service that speaks its protocol. */
import { type ArtifactStore, parseArtifactRef } from "@jobforge/sdk-ts";
import { Measured } from "./measured.ts";
import { S3Client, type S3Connection, S3Error, textOf } from "./s3-client.ts";
import { keyOf, notThere, refOf } from "./store.ts";

export interface S3Options extends S3Connection {
  /** The beginning of all keys in the bucket, such as `jobforge`. Default: none. */
  readonly prefix?: string | undefined;
}

/** A larger artifact is uploaded in parts of this size, one after the other. */
const partBytes = 8 * 2 ** 20;

/** Creates a store in a bucket, which must exist. An upload that fails halfway is never visible, and is aborted. */
export function s3Store(options: S3Options): ArtifactStore {
  const prefix = options.prefix ? `${options.prefix.replace(/\/+$/, "")}/` : "";
  const nameOf = (ref: string): string => `${prefix}${keyOf(ref)}`;
  const client = new S3Client(options);
  return {
    put: async (key, content, { contentType, signal }) => {
      const ref = refOf(key);
      const measured = new Measured();
      await upload(client, nameOf(ref), inParts(measured.of(content, signal)), contentType, signal);
      return { ref, ...measured.facts() };
    },
    get: async (ref, signal) => {
      const { body } = await client.send("GET", nameOf(ref), { signal }).catch(refuseMissing);
      return body;
    },
    url: (ref, seconds) => {
      const name = parseArtifactRef(ref)?.name ?? "";
      return client.link(nameOf(ref), seconds, {
        "response-content-disposition": `attachment; filename="${name}"`,
      });
    },
    delete: async (ref) => {
      await (await client.send("DELETE", nameOf(ref)).catch(ignoreMissing))?.body.dump();
    },
    list: async function* (start) {
      for await (const entry of listed(client, `${prefix}${start}`)) {
        const ref = `artifact:${(textOf(entry, "Key") ?? "").slice(prefix.length)}`;
        // Another program's object in the same bucket is not an artifact.
        if (parseArtifactRef(ref) === undefined) continue;
        yield {
          ref,
          bytes: Number(textOf(entry, "Size")),
          modifiedAt: new Date(textOf(entry, "LastModified") ?? ""),
        };
      }
    },
  };
}

/** Sends a small content in one request. A larger one becomes visible when its last part has arrived. */
async function upload(
  client: S3Client,
  name: string,
  parts: AsyncGenerator<Buffer>,
  contentType: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const headers = { "content-type": contentType };
  const first = await parts.next();
  const second = first.done ? first : await parts.next();
  if (second.done) {
    const body = first.done ? Buffer.alloc(0) : first.value;
    await (await client.send("PUT", name, { headers, body, signal })).body.dump();
    return;
  }
  const started = await client.text("POST", name, { query: { uploads: "" }, headers, signal });
  const uploadId = textOf(started, "UploadId") ?? "";
  try {
    const all = joined([first.value, second.value], parts);
    const tags: string[] = [];
    for await (const body of all) {
      const query = { partNumber: String(tags.length + 1), uploadId };
      const sent = await client.send("PUT", name, { query, body, signal });
      await sent.body.dump();
      tags.push(String(sent.headers["etag"]));
    }
    const list = tags.map((tag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`);
    const ended = await client.text("POST", name, { query: { uploadId }, body, signal });
    // A store may fail after it has sent the status.
    if (ended.includes("<Error>")) throw new S3Error(500, ended);
  } catch (error) {
    await client.text("DELETE", name, { query: { uploadId } }).catch(() => undefined);
    throw error;
  }
}

async function* joined(first: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

/** The content in parts of the same size; the last one may be smaller. */
async function* inParts(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    kept.push(chunk);
    size += chunk.length;
    if (size < partBytes) continue;
    const whole = Buffer.concat(kept);
    let at = 0;
    for (; whole.length - at >= partBytes; at += partBytes) yield whole.subarray(at, at + partBytes);
    kept = at < whole.length ? [whole.subarray(at)] : [];
    size = whole.length - at;
  }
  if (size > 0) yield Buffer.concat(kept);
}

/** The elements of all pages of a list. */
async function* listed(client: S3Client, prefix: string): AsyncGenerator<string> {
  let token: string | undefined;
  do {
    const more = token === undefined ? {} : { "continuation-token": token };
    const page = await client.text("GET", "", { query: { "list-type": "2", prefix, ...more } });
    for (const [entry] of page.matchAll(/<Contents>.*?<\/Contents>/gs)) yield entry;
    token = textOf(page, "NextContinuationToken");
  } while (token !== undefined);
}

function refuseMissing(error: unknown): never {
  if (error instanceof S3Error && error.status === 404) throw notThere();
  throw error;
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof S3Error && error.status === 404) return undefined;
  throw error;
}
