/** Reads the body of a response within limits. They count what arrives after decoding, so a small bomb stays small. */
import { Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { ConnectorError } from "../errors.ts";

/** Above this size, a decoded body may be at most `maxRatio` times as large as what was received. */
const ratioFrom = 1_048_576;
const maxRatio = 100;

export interface ReadBody {
  readonly bytes: Buffer;
  /** Bytes that were read, kept or not. */
  readonly total: number;
  readonly truncated: boolean;
}

/** Returns up to `maxBytes` of the body and drops the connection if there is more. */
export async function readBody(body: Readable, maxBytes: number): Promise<ReadBody> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    total += chunk.length;
    if (total > maxBytes) break;
  }
  const truncated = total > maxBytes;
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), total, truncated };
}

/** Passes a body on and fails when it is longer than `maxBytes`. */
export async function* limited(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let total = 0;
  for await (const chunk of body) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(maxBytes, total);
    yield chunk;
  }
}

export function tooLarge(maxBytes: number, bytes: number): ConnectorError {
  return new ConnectorError("too_large", `The response has more than ${maxBytes} bytes.`, { bytes });
}

/** The decoded body, if it has one encoding that is supported. A chain of encodings is refused. */
export function decoded(body: Readable, encoding: string | undefined): Readable {
  const name = encoding?.trim().toLowerCase() ?? "identity";
  if (name === "identity" || name === "") return body;
  const decoder = name === "gzip" ? createGunzip() : name === "br" ? createBrotliDecompress() : undefined;
  if (decoder === undefined) {
    body.destroy();
    throw new ConnectorError("invalid_response", "The response has an encoding that is not supported.", {
      sent: true,
    });
  }
  return Readable.from(inflate(body, decoder), { objectMode: false });
}

async function* inflate(body: Readable, decoder: Transform): AsyncGenerator<Buffer> {
  let received = 0;
  let total = 0;
  body.on("data", (chunk: Buffer) => {
    received += chunk.length;
  });
  const stream = body.pipe(decoder);
  body.once("error", (error) => stream.destroy(error));
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      total += chunk.length;
      if (total > ratioFrom && total > received * maxRatio)
        throw new ConnectorError("too_large", "The response is compressed too far.", { bytes: total });
      yield chunk;
    }
  } finally {
    body.destroy();
    stream.destroy();
  }
}
