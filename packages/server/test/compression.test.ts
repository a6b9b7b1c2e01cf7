/** Compression of responses. */
import { request as plain } from "node:http";
import { gunzipSync } from "node:zlib";
import { expect } from "vitest";
import { appToken, type Running, T, test } from "./support/server.ts";

interface Raw {
  readonly encoding: string | undefined;
  readonly vary: string | undefined;
  readonly bytes: Buffer;
}

/** Sends a request without fetch, which decodes responses. */
async function get({ url }: Running, path: string, accept?: string): Promise<Raw> {
  const token = await appToken(T);
  return await new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(accept === undefined ? {} : { "accept-encoding": accept }),
    };
    plain(`${url}${path}`, { headers }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () =>
        resolve({
          encoding: response.headers["content-encoding"],
          vary: response.headers.vary,
          bytes: Buffer.concat(parts),
        }),
      );
    })
      .on("error", reject)
      .end();
  });
}

test("JSON is compressed for clients that accept it", async ({ http, db }) => {
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg('{"type": "a"}'::jsonb) from generate_series(1, 50)))`,
    [T],
  );
  const full = await get(http, "/v1/jobs");
  expect(full).toMatchObject({ encoding: undefined, vary: expect.stringContaining("accept-encoding") });
  const small = await get(http, "/v1/jobs", "gzip, br");
  expect(small).toMatchObject({ encoding: "gzip", vary: expect.stringContaining("accept-encoding") });
  expect(gunzipSync(small.bytes)).toEqual(full.bytes);
  expect(small.bytes.length).toBeLessThan(full.bytes.length / 4);
  for (const accept of ["identity", "gzip;q=0", "br"])
    expect(await get(http, "/v1/jobs", accept)).toMatchObject({ encoding: undefined, bytes: full.bytes });
});

test("short responses and those with an ETag stay as they are", async ({ http }) => {
  expect(await get(http, "/v1/jobs", "gzip")).toMatchObject({ encoding: undefined });
  expect(await get(http, "/v1/openapi.json", "gzip")).toMatchObject({ encoding: undefined });
});

test("a page of 50 jobs with payloads of 100 kB is small", async ({ http, db }) => {
  await db.query(
    `select jobforge_enqueue_jobs($1, (
       select jsonb_agg(jsonb_build_object('type', 'a', 'payload', jsonb_build_object('text', (
         select string_agg(md5(n * 4000 + m || ''), '') from generate_series(1, 3200) m))))
       from generate_series(1, 50) n))`,
    [T],
  );
  const { bytes } = await get(http, "/v1/jobs?fields=summary", "gzip");
  expect(JSON.parse(String(gunzipSync(bytes)))).toMatchObject({ items: { length: 50 } });
  expect(bytes.length).toBeLessThan(60_000);
});
