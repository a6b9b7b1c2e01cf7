/** Redirects, and servers that respond slowly, endlessly or with tricks. */
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { decoded, readBody } from "../../src/egress/body.ts";
import { loopbackEgress } from "../../src/index.ts";
import { guarded } from "../support/guarded.ts";
import { startServer, startTcp, type TestServer } from "../support/servers.ts";

const get = (...args: Parameters<ReturnType<typeof guarded>>): ReturnType<ReturnType<typeof guarded>> =>
  guarded(loopbackEgress)(...args);

/** A server that redirects from each path to the location of the map, and shows all other requests. */
function redirecting(status: number, targets: Readonly<Record<string, string>>): Promise<TestServer> {
  return startServer((request, response) => {
    const location = targets[request.url];
    if (location === undefined) response.end(`${request.method} ${request.url} ${request.body}`);
    else response.writeHead(status, { location }).end();
  });
}

describe("redirects", () => {
  test("are followed and listed", async () => {
    const server = await redirecting(302, { "/a": "/b", "/b": "c?d=1" });
    const { text, exchange } = await get({ url: `${server.url}/a` });
    expect(text).toBe("GET /c?d=1 ");
    expect(exchange.redirects).toEqual([`${server.url}/a`, `${server.url}/b`]);
    expect(exchange.url.href).toBe(`${server.url}/c?d=1`);
  });

  test.for([
    ["http://10.0.0.1/", "blocked_address"],
    ["http://169.254.169.254/latest/meta-data/", "blocked_address"],
    ["http://2852039166/", "blocked_address"],
    ["file:///etc/passwd", "blocked_scheme"],
    ["http://metadata.google.internal/", "blocked_host"],
    ["http://127.0.0.1:22/", "blocked_port"],
    ["http://user:pass@127.0.0.1/", "invalid_url"],
    ["http://[", "redirect_refused"],
  ] as const)("to %s are refused with %s", async ([target, code]) => {
    const server = await redirecting(302, { "/": target });
    await expect(get({ url: server.url })).rejects.toMatchObject({ code, isFinal: true });
  });

  test("end after the limit", async () => {
    const server = await redirecting(302, { "/": "/" });
    await expect(get({ url: server.url, redirects: 2 })).rejects.toMatchObject({ code: "redirect_refused" });
    expect(server.received).toHaveLength(3);
  });

  test("to another origin lose secrets, and to the same origin keep them", async () => {
    const other = await startServer((_, response) => response.end("there"));
    const server = await redirecting(302, { "/": "/same", "/same": `${other.url}/` });
    const headers = {
      authorization: "Bearer secret",
      cookie: "a=b",
      "x-api-key": "secret",
      "idempotency-key": "1",
      accept: "text/plain",
    };
    await get({ url: server.url, headers, secretHeaders: new Set(["x-api-key"]) });
    expect(server.received[1]?.headers).toMatchObject(headers);
    const [arrived] = other.received;
    expect(arrived?.headers.accept).toBe("text/plain");
    for (const name of ["authorization", "cookie", "x-api-key", "idempotency-key"])
      expect(arrived?.headers, name).not.toHaveProperty(name);
  });

  test("of a POST become GET without a body, or repeat it within the origin only", async () => {
    const other = await startServer((_, response) => response.end("there"));
    const request = {
      method: "POST",
      body: async () => Buffer.from("body"),
      headers: { "content-type": "text/plain" },
    } as const;
    const see = await redirecting(303, { "/": "/b" });
    expect((await get({ ...request, url: see.url })).text).toBe("GET /b ");
    expect(see.received[1]?.headers).not.toHaveProperty("content-type");
    const same = await redirecting(307, { "/": "/b" });
    expect((await get({ ...request, url: same.url })).text).toBe("POST /b body");
    const away = await redirecting(308, { "/": other.url });
    await expect(get({ ...request, url: away.url })).rejects.toMatchObject({ code: "redirect_refused" });
    expect(other.received).toEqual([]);
  });

  test("are not followed if none are allowed", async () => {
    const server = await redirecting(302, { "/": "/b" });
    expect((await get({ url: server.url, redirects: 0 })).exchange.status).toBe(302);
  });
});

describe("a server that", () => {
  const drip = async (first: string, more: string): Promise<number> =>
    await startTcp((socket) => {
      socket.write(first);
      const timer = setInterval(() => socket.write(more), 5);
      socket.on("close", () => clearInterval(timer));
    });

  test.for([
    ["sends its body byte by byte", "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", "x"],
    ["sends chunks for ever", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\nx\r\n"],
    ["sends early hints for ever", "", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"],
    ["sends header bytes for ever, slowly", "HTTP/1.1 200 OK\r\nx: ", "x"],
  ] as const)("%s is cut off at the deadline", async ([, first, more]) => {
    const port = await drip(first, more);
    await expect(get({ url: `http://127.0.0.1:${port}/`, timeoutMs: 300 })).rejects.toMatchObject({
      code: "timeout",
      isFinal: false,
    });
  });

  test("never finishes its TLS is cut off at the deadline, and nothing was sent", async () => {
    const port = await startTcp(() => undefined);
    await expect(get({ url: `https://127.0.0.1:${port}/`, timeoutMs: 200 })).rejects.toMatchObject({
      code: "timeout",
      details: { sent: false },
    });
  });

  test("waits until many requests are there gets them all: none waits for another", async () => {
    const waiting: (() => void)[] = [];
    const server = await startServer((_, response) => {
      waiting.push(() => response.end("ok"));
      if (waiting.length === 30) for (const end of waiting) end();
    });
    const all = await Promise.all(Array.from({ length: 30 }, () => get({ url: server.url })));
    expect(all.map(({ text }) => text)).toEqual(Array(30).fill("ok"));
  });

  test.for([
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    [
      "a length and chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    ],
    ["a negative length", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n"],
    ["a header without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n"],
    ["a NUL in a header", "HTTP/1.1 200 OK\r\nx: a\u0000b\r\n\r\n"],
    ["another status line", "HTTP/9.9 99999 OK\r\n\r\n"],
    ["a switch of protocols", "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"],
  ] as const)("sends %s fails, and is retried", async ([, bytes]) => {
    const port = await startTcp((socket) => socket.once("data", () => socket.end(bytes)));
    const outcome = await get({ url: `http://127.0.0.1:${port}/`, timeoutMs: 2000 }).catch(
      (error: unknown) => error,
    );
    expect(outcome).toMatchObject({ name: "ConnectorError", isFinal: false });
  });

  test("never sends more than its limit is read up to the limit", async () => {
    const port = await startTcp((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const block = Buffer.alloc(65_536, "x");
      const more = (): void => {
        while (!socket.destroyed && socket.write(block));
      };
      socket.on("drain", more);
      more();
    });
    const { text } = await get({ url: `http://127.0.0.1:${port}/`, maxBytes: 1000 });
    expect(text).toBe("x".repeat(1000));
  });

  test("sends too many headers fails", async () => {
    const port = await startTcp((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\n${"x-a: 0123456789\r\n".repeat(2000)}\r\n`),
    );
    await expect(get({ url: `http://127.0.0.1:${port}/` })).rejects.toMatchObject({
      code: "invalid_response",
    });
  });

  test("speaks another protocol, or closes the connection, fails and is retried", async () => {
    const ssh = await startTcp((socket) => socket.write("SSH-2.0-OpenSSH_9.6\r\n"));
    await expect(get({ url: `http://127.0.0.1:${ssh}/` })).rejects.toMatchObject({
      code: "invalid_response",
    });
    const closing = await startTcp((socket) => socket.once("data", () => socket.destroy()));
    await expect(get({ url: `http://127.0.0.1:${closing}/` })).rejects.toMatchObject({
      code: "connection_lost",
      isFinal: false,
    });
  });
});

describe("a compressed body", () => {
  const from = async (bytes: Buffer, encoding: string): Promise<string> => {
    const server = await startServer((_, response) => {
      response.writeHead(200, { "content-encoding": encoding });
      response.end(bytes);
    });
    const { Agents } = await import("../../src/egress/agents.ts");
    const { send } = await import("../../src/egress/exchange.ts");
    const { egressPolicy } = await import("../../src/egress/policy.ts");
    const exchange = await send(new Agents(), {
      tenantId: "t",
      url: server.url,
      method: "GET",
      headers: {},
      redirects: 0,
      waits: { connectMs: 5000, betweenBytesMs: 5000 },
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      rules: { policy: egressPolicy(loopbackEgress) },
    });
    const read = await readBody(decoded(exchange.body, encoding), 20_000_000);
    return read.bytes.toString("utf8");
  };

  test("is decoded", async () => {
    expect(await from(gzipSync("hello"), "gzip")).toBe("hello");
    expect(await from(brotliCompressSync("hello"), "br")).toBe("hello");
    const members = [gzipSync("hel"), gzipSync("lo"), Buffer.from("\0\0")];
    expect(await from(Buffer.concat(members), "gzip")).toBe("hello");
  });

  test("that grows too far is cut off", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(from(bomb, "gzip")).rejects.toMatchObject({ code: "too_large" });
  });

  test("with a chain of encodings or an unknown one is refused", async () => {
    await expect(from(gzipSync(gzipSync("x")), "gzip, gzip")).rejects.toMatchObject({
      code: "invalid_response",
    });
    await expect(from(Buffer.from("x"), "zstd")).rejects.toMatchObject({ code: "invalid_response" });
  });
});
