/** Compresses JSON for clients that accept it. Lists of jobs shrink to a tenth. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { MiddlewareHandler } from "hono";
import { isJsonType } from "./media-type.ts";
import type { Environment } from "./services.ts";

const compress = promisify(gzip);

/** Shorter texts fit into one packet anyway. */
const leastBytes = 1024;

/** Compresses long responses with JSON. One with an ETag stays as it is, because the tag names these bytes. */
export const compressJson: MiddlewareHandler<Environment> = async (c, next) => {
  await next();
  const { headers, status } = c.res;
  if (!isJsonType(headers.get("content-type") ?? "") || headers.has("etag")) return;
  c.header("vary", "accept-encoding", { append: true });
  if (!accepts(c.req.header("accept-encoding") ?? "", "gzip")) return;
  const bytes = await c.res.arrayBuffer();
  const isLong = bytes.byteLength >= leastBytes;
  const sent = new Headers(c.res.headers);
  if (isLong) {
    sent.set("content-encoding", "gzip");
    sent.delete("content-length");
  }
  c.res = undefined;
  c.res = new Response(isLong ? new Uint8Array(await compress(bytes)) : bytes, { status, headers: sent });
};

/** Whether an Accept-Encoding names an encoding, and not with `q=0`. */
export function accepts(accepted: string, encoding: string): boolean {
  return accepted.split(",").some((each) => {
    const [name, ...parameters] = each.split(";").map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
