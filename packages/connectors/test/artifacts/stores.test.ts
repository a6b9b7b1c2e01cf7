/** Both stores keep the same promises. The one for S3 is tested against a server that checks signatures. */
import { createHash, createHmac, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findTool } from "../../../../scripts/tools.js";
import { type ArtifactStore, fileStore, openStore, s3Store } from "../../src/index.ts";
import { startS3 } from "../support/s3.ts";

/** Undefined if it is not available. Then its tests are skipped, and `findTool` has printed a line about it. */
const tool = await findTool("moto-server");
const s3 = tool === undefined ? undefined : await startS3(tool);
const folder = await mkdtemp(join(tmpdir(), "jobforge-artifacts-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const T = "11111111-1111-4111-8111-111111111111";
const keyOf = (name: string): string => `reports/${T}/${randomUUID()}/${name}`;
const plain = { contentType: "text/plain" };

async function* chunks(...texts: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function textOf(store: ArtifactStore, ref: string): Promise<string> {
  const read: Buffer[] = [];
  for await (const chunk of await store.get(ref)) read.push(chunk);
  return Buffer.concat(read).toString("utf8");
}

async function listed(store: ArtifactStore, prefix: string): Promise<string[]> {
  const refs: string[] = [];
  for await (const { ref } of store.list(prefix)) refs.push(ref);
  return refs.sort();
}

/** The signature of a link, by the definition of AWS Signature Version 4. */
function signatureOf(url: URL, secretKey: string): string {
  const encode = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort();
  const request = [
    "GET",
    url.pathname,
    query.join("&"),
    `host:${url.host}\n`,
    "host",
    "UNSIGNED-PAYLOAD",
  ].join("\n");
  const time = url.searchParams.get("X-Amz-Date") ?? "";
  const [, ...scope] = (url.searchParams.get("X-Amz-Credential") ?? "").split("/");
  const hash = createHash("sha256").update(request).digest("hex");
  const text = ["AWS4-HMAC-SHA256", time, scope.join("/"), hash].join("\n");
  const hmac = (key: string | Buffer, value: string): Buffer =>
    createHmac("sha256", key).update(value).digest();
  const key = scope.reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secretKey}`);
  return hmac(key, text).toString("hex");
}

const stores: readonly (readonly [string, ArtifactStore | undefined])[] = [
  ["files", fileStore(folder)],
  ["S3", s3 && s3Store({ ...s3, prefix: "some/prefix" })],
];

describe.for(stores)("a store of %s", ([, found]) => {
  const it = test.skipIf(found === undefined);
  const store = found ?? fileStore(folder);

  it("returns what was stored, with its size and hash, and replaces it", async () => {
    const key = keyOf("hello.txt");
    const stored = await store.put(key, chunks("Grüße, ", "Welt"), plain);
    const sha256 = createHash("sha256").update("Grüße, Welt").digest("hex");
    expect(stored).toEqual({ ref: `artifact:${key}`, bytes: 13, sha256 });
    expect(await textOf(store, stored.ref)).toBe("Grüße, Welt");
    await store.put(key, chunks("new"), plain);
    expect(await textOf(store, stored.ref)).toBe("new");
    expect((await store.put(keyOf("empty.txt"), chunks(), plain)).bytes).toBe(0);
  });

  it("stores streams that are larger than one part", async () => {
    const part = Buffer.alloc(3 * 2 ** 20, "x");
    const { ref, bytes, sha256 } = await store.put(keyOf("large.bin"), chunks(...Array(7).fill(part)), plain);
    expect(bytes).toBe(21 * 2 ** 20);
    const hash = createHash("sha256");
    for await (const chunk of await store.get(ref)) hash.update(chunk);
    expect(hash.digest("hex")).toBe(sha256);
  });

  it.for([
    ["small", 100],
    ["of several parts", 9 * 2 ** 20],
  ] as const)("stores nothing of a stream that fails: %s", async ([, size]) => {
    const key = keyOf("half.txt");
    const failing = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.alloc(size);
      throw new Error("the source failed");
    };
    await expect(store.put(key, failing(), plain)).rejects.toThrow("the source failed");
    await expect(store.get(`artifact:${key}`)).rejects.toMatchObject({ code: "artifact_unavailable" });
    expect(await listed(store, key)).toEqual([]);
  });

  it("stops when the signal is aborted, and stores nothing", async () => {
    const key = keyOf("aborted.txt");
    const stop = new AbortController();
    const content = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from("begin");
      stop.abort(new Error("canceled"));
      yield Buffer.from("end");
    };
    await expect(store.put(key, content(), { ...plain, signal: stop.signal })).rejects.toThrow("canceled");
    expect(await listed(store, key)).toEqual([]);
  });

  it("lists the artifacts of a prefix, and deletes", async () => {
    const job = `reports/${T}/${randomUUID()}`;
    for (const name of ["a.csv", "b.csv"]) await store.put(`${job}/${name}`, chunks("x"), plain);
    await store.put(keyOf("a.csv"), chunks("x"), plain);
    const refs = [`artifact:${job}/a.csv`, `artifact:${job}/b.csv`];
    expect(await listed(store, job)).toEqual(refs);
    for await (const { bytes, modifiedAt } of store.list(job)) {
      expect(bytes).toBe(1);
      expect(modifiedAt.getTime()).toBeGreaterThan(0);
    }
    await store.delete(refs[0] ?? "");
    await store.delete(refs[0] ?? "");
    expect(await listed(store, job)).toEqual(refs.slice(1));
  });

  it.for([
    "",
    "artifact:",
    "artifact:a/b/c",
    `artifact:reports/${T}/../x`,
    `artifact:reports/${T}/x/y/z`,
    "file:/etc/passwd",
  ])("refuses the reference %j", async (ref) => {
    await expect(store.get(ref)).rejects.toMatchObject({ code: "artifact_unavailable" });
    await expect(store.put(ref.replace("artifact:", ""), chunks("x"), plain)).rejects.toMatchObject({
      code: "artifact_unavailable",
    });
  });
});

describe("files", () => {
  test("of an upload whose process was killed are listed after an hour, and deleted with the others", async () => {
    const own = await mkdtemp(join(folder, "killed-"));
    const store = fileStore(own);
    const job = `reports/${T}/${randomUUID()}`;
    // A process that is killed cannot clean up. Its file has this name until it is complete.
    const [young, old] = ["a", "b"].map((digit) => `${digit.repeat(32)}.part`);
    await mkdir(join(own, job), { recursive: true });
    for (const name of [young, old]) await writeFile(join(own, job, name ?? ""), "half");
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(own, job, old ?? ""), anHourAgo, anHourAgo);
    await store.put(`${job}/the.part`, chunks("whole"), plain);
    expect(await listed(store, `${job}/`)).toEqual([`artifact:${job}/${old}`, `artifact:${job}/the.part`]);
    for (const ref of await listed(store, `${job}/`)) await store.delete(ref);
    expect(await readdir(join(own, job))).toEqual([young]);
  });

  test("leave no empty folder, and a folder that goes away does not matter to an upload", async () => {
    const own = await mkdtemp(join(folder, "empty-"));
    const store = fileStore(own);
    const key = keyOf("a.csv");
    const { ref } = await store.put(key, chunks("x"), plain);
    await store.delete(ref);
    expect(await readdir(join(own, "reports", T))).toEqual([]);
    const failing = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from("x");
      throw new Error("the source failed");
    };
    await expect(store.put(key, failing(), plain)).rejects.toThrow("the source failed");
    expect(await readdir(join(own, "reports", T))).toEqual([]);
    const others = Array.from({ length: 50 }, async (_, n) => {
      await store.put(key.replace("a.csv", `${n}.csv`), chunks("x"), plain);
      await store.delete(`artifact:${key.replace("a.csv", `${n}.csv`)}`);
    });
    await Promise.all(others);
    expect(await listed(store, "")).toEqual([]);
  });
});

describe("S3", () => {
  const it = test.skipIf(s3 === undefined);

  // The server of this test checks no signatures of links, so the test computes them as the protocol says.
  it("has links that end, for downloads only", async () => {
    const store = s3Store({ bucket: "", ...s3 });
    const { ref } = await store.put(keyOf("report.html"), chunks("<p>"), { contentType: "text/html" });
    const link = (await store.url?.(ref, 60)) ?? "";
    const url = new URL(link);
    expect(url.origin).toBe(s3?.endpoint);
    expect(url.pathname).toBe(`/artifacts/${ref.slice("artifact:".length)}`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Expires": "60",
      "X-Amz-SignedHeaders": "host",
      "response-content-disposition": 'attachment; filename="report.html"',
    });
    expect(url.searchParams.get("X-Amz-Signature")).toBe(signatureOf(url, s3?.secretKey ?? ""));
  });

  it("is refused with a wrong key", async () => {
    const store = s3Store({ bucket: "", ...s3, secretKey: "wrong" });
    await expect(store.put(keyOf("x.txt"), chunks("x"), plain)).rejects.toThrow();
  });

  it("is opened by an address, with the credentials of the environment", async () => {
    const { endpoint = "", bucket = "", accessKey, secretKey } = s3 ?? {};
    const env = { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey };
    const store = openStore(`s3://${bucket}/by/address?endpoint=${encodeURIComponent(endpoint)}`, { env });
    const { ref } = await store.put(keyOf("x.txt"), chunks("by address"), plain);
    expect(await textOf(store, ref)).toBe("by address");
    const same = s3Store({ bucket: "", ...s3, prefix: "by/address/" });
    expect(await textOf(same, ref)).toBe("by address");
    // Another prefix is another store.
    await expect(s3Store({ bucket: "", ...s3 }).get(ref)).rejects.toMatchObject({
      code: "artifact_unavailable",
    });
  });
});

test.for([
  ["ftp://x", "must begin with file: or s3://"],
  ["s3://bucket?endpiont=http://x", "no parameter endpiont"],
  ["s3://key:secret@bucket", "AWS_ACCESS_KEY_ID"],
  ["s3://bucket?endpoint=nowhere", "must be an http or https URL"],
])("the address %s is refused", ([address, message]) => {
  expect(() => openStore(address)).toThrow(message);
});
