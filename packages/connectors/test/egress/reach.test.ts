/** What requests reach: a DNS server and a certificate authority of the test play the attacker. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { loopbackEgress } from "../../src/index.ts";
import { certificatesFor } from "../support/certificates.ts";
import { startDns } from "../support/dns.ts";
import { guarded } from "../support/guarded.ts";
import { otherTenant } from "../support/run.ts";
import { closedPort, startServer } from "../support/servers.ts";

const name = "api.test.example";

describe("names", () => {
  test("are resolved by the servers of the policy, once for each connection", async () => {
    const dns = await startDns();
    dns.set(name, ["127.0.0.1"]);
    const server = await startServer((_, response) => response.end("ok"));
    const get = guarded({ ...loopbackEgress, dns_servers: [dns.address] });
    for (let n = 0; n < 3; n += 1)
      expect((await get({ url: `http://${name}:${server.port}/` })).text).toBe("ok");
    const connections = new Set(server.received.map(({ clientPort }) => clientPort)).size;
    expect(dns.asked.filter((question) => question === `A ${name}`)).toHaveLength(connections);
  });

  test("that resolve to a private address are refused before a connection", async () => {
    const dns = await startDns();
    const server = await startServer((_, response) => response.end("internal"));
    const get = guarded({ dns_servers: [dns.address] });
    const embedded = ["::ffff:7f00:1", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2001::1"];
    const internal = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "fd00::1"];
    for (const address of [...internal, ...embedded]) {
      dns.set(name, [address]);
      const refused = get({ url: `http://${name}:${server.port}/` });
      await expect(refused, address).rejects.toMatchObject({ code: "blocked_address" });
      await expect(refused, address).rejects.not.toThrow(address);
    }
    expect(server.received).toEqual([]);
  });

  test("of which one address is private are refused, however many are public", async () => {
    const dns = await startDns();
    dns.set(name, ["127.0.0.1", "10.0.0.7"]);
    const server = await startServer((_, response) => response.end("ok"));
    const get = guarded({ ...loopbackEgress, dns_servers: [dns.address] });
    const refused = get({ url: `http://${name}:${server.port}/` });
    await expect(refused).rejects.toMatchObject({ code: "blocked_address" });
    expect(server.received).toEqual([]);
  });

  test("that change their address between two questions cannot slip through", async () => {
    const dns = await startDns();
    let questions = 0;
    // The first question gets the allowed address, all later ones a refused address.
    dns.set(name, () => {
      questions += 1;
      return [questions <= 2 ? "127.0.0.1" : "10.0.0.7"];
    });
    const server = await startServer((_, response) => {
      response.setHeader("connection", "close");
      response.end("ok");
    });
    const get = guarded({ ...loopbackEgress, dns_servers: [dns.address] });
    const url = `http://${name}:${server.port}/`;
    expect((await get({ url })).text).toBe("ok");
    await expect(get({ url })).rejects.toMatchObject({ code: "blocked_address" });
    expect(server.received).toHaveLength(1);
  });

  test("that do not exist are a failure of DNS, which is retried", async () => {
    const dns = await startDns();
    const get = guarded({ dns_servers: [dns.address] });
    await expect(get({ url: "https://nowhere.test.example/" })).rejects.toMatchObject({
      code: "dns_failed",
      isFinal: false,
    });
  });

  test("whose server is silent are given up at the deadline, and nothing was sent", async () => {
    const silent = createSocket("udp4").bind(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => {
      silent.close();
    });
    const get = guarded({ dns_servers: [`127.0.0.1:${silent.address().port}`] });
    await expect(get({ url: "https://api.test.example/", timeoutMs: 100 })).rejects.toMatchObject({
      code: "timeout",
      details: { sent: false },
      message: expect.stringContaining("100 ms in total"),
    });
  });

  test("of this machine are resolved without DNS, if the policy allows them", async () => {
    const server = await startServer((_, response) => response.end("ok"));
    const get = guarded(loopbackEgress);
    expect((await get({ url: `http://localhost:${server.port}/` })).text).toBe("ok");
  });
});

describe("literal addresses", () => {
  test.for(["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"])(
    "%s is refused in every spelling",
    async (host) => {
      const server = await startServer((_, response) => response.end("internal"));
      const refused = guarded({})({ url: `http://${host}:${server.port}/` });
      await expect(refused).rejects.toMatchObject({ code: "blocked_address" });
      expect(server.received).toEqual([]);
    },
  );
});

describe("connections", () => {
  test("are never shared by two tenants, nor by two versions of a policy", async () => {
    const server = await startServer((_, response) => response.end("ok"));
    const get = guarded(loopbackEgress);
    const stricter = { ...loopbackEgress, allow_ports: [81] };
    for (let n = 0; n < 5; n += 1) {
      await get({ url: `${server.url}/one` });
      await get({ url: `${server.url}/other`, tenantId: otherTenant });
      await get({ url: `${server.url}/policy`, policy: stricter });
    }
    const users = new Map<number, Set<string>>();
    for (const { clientPort, url } of server.received)
      users.set(clientPort, (users.get(clientPort) ?? new Set()).add(url));
    expect(users.size).toBeLessThan(15);
    for (const urls of users.values()) expect([...urls]).toHaveLength(1);
  });

  test("that an earlier policy opened are not used under a stricter one", async () => {
    const server = await startServer((_, response) => response.end("ok"));
    const get = guarded(loopbackEgress);
    await get({ url: server.url });
    await expect(get({ url: server.url, policy: {} })).rejects.toMatchObject({ code: "blocked_address" });
  });

  test("that are refused say so without the address", async () => {
    const port = await closedPort();
    const dns = await startDns();
    dns.set(name, ["127.0.0.1"]);
    const refused = guarded({ ...loopbackEgress, dns_servers: [dns.address] })({
      url: `http://${name}:${port}/`,
    });
    await expect(refused).rejects.toMatchObject({ code: "connect_failed", isFinal: false });
    await expect(refused).rejects.not.toThrow("127.0.0.1");
  });

  test("ignore proxies of the environment", async () => {
    const server = await startServer((_, response) => response.end("direct"));
    process.env["http_proxy"] = `http://127.0.0.1:${await closedPort()}`;
    onTestFinished(() => {
      delete process.env["http_proxy"];
    });
    expect((await guarded(loopbackEgress)({ url: server.url })).text).toBe("direct");
  });
});

describe("TLS", () => {
  test("needs a certificate for the name that was asked for", async () => {
    const [dns, certificates] = await Promise.all([startDns(), certificatesFor(name)]);
    const server = await startServer((_, response) => response.end("secure"), certificates);
    dns.set(name, ["127.0.0.1"]);
    dns.set("other.test.example", ["127.0.0.1"]);
    const get = guarded({ ...loopbackEgress, dns_servers: [dns.address], ca: certificates.ca });
    const { text, exchange } = await get({ url: `https://${name}:${server.port}/` });
    expect(text).toBe("secure");
    expect(exchange.timings).toMatchObject({ connect: expect.any(Number), tls: expect.any(Number) });
    await expect(get({ url: `https://other.test.example:${server.port}/` })).rejects.toMatchObject({
      code: "tls_failed",
      isFinal: false,
    });
    const strict = guarded({ ...loopbackEgress, dns_servers: [dns.address] });
    await expect(strict({ url: `https://${name}:${server.port}/` })).rejects.toMatchObject({
      code: "tls_failed",
    });
  });
});

describe("an egress proxy", () => {
  test("gets all requests, and its absence is not the fault of the job", async () => {
    const server = await startServer((_, response) => response.end("through the proxy"));
    const asked: string[] = [];
    const { connect } = await import("node:net");
    const proxy = createServer().on("connect", (request, socket) => {
      asked.push(request.url ?? "");
      const upstream = connect(server.port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.pipe(socket).pipe(upstream);
      });
      socket.on("error", () => upstream.destroy());
      upstream.on("error", () => socket.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const { port } = proxy.address() as { port: number };
    const get = guarded({ proxy: `http://127.0.0.1:${port}` });
    expect((await get({ url: `http://${name}:${server.port}/` })).text).toBe("through the proxy");
    expect(asked).toEqual([`${name}:${server.port}`]);
    const down = guarded({ proxy: `http://127.0.0.1:${await closedPort()}` });
    await expect(down({ url: `http://${name}/` })).rejects.toMatchObject({ code: "proxy_unavailable" });
  });
});
