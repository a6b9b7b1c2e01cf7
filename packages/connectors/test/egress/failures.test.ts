/** What an error says about the request: whether the server may have received it decides about retries of a POST. */
import { expect, test } from "vitest";
import { failureOf } from "../../src/egress/failures.ts";
import { loopbackEgress } from "../../src/index.ts";
import { guarded } from "../support/guarded.ts";
import { startTcp } from "../support/servers.ts";

const live = new AbortController().signal;

function failure(code: string, more: { readonly isSent: boolean; readonly proxied?: boolean }): unknown {
  const waits = { connectMs: 1, betweenBytesMs: 1 };
  return failureOf(Object.assign(new Error("x"), { code }), {
    ...{ host: "api.example.com", proxied: more.proxied ?? false, timeoutMs: 1000, waits },
    ...{ deadline: live, run: live, isSent: () => more.isSent },
  });
}

test.for(["ETIMEDOUT", "EHOSTUNREACH", "EPROTO", "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC"])(
  "%s of a request that is on its way is a lost connection, also through a proxy",
  (code) => {
    for (const proxied of [false, true])
      expect(failure(code, { isSent: true, proxied })).toMatchObject({
        code: "connection_lost",
        isFinal: false,
        details: { sent: true },
      });
  },
);

test.for([
  ["ETIMEDOUT", "connect_failed"],
  ["EPROTO", "tls_failed"],
  ["ECONNRESET", "connection_lost"],
] as const)("%s before the request is %s, and nothing was sent", ([code, expected]) => {
  expect(failure(code, { isSent: false })).toMatchObject({ code: expected, details: { sent: false } });
});

test("a server that resets each connection at once is retried: there is no address that was refused", async () => {
  const port = await startTcp((socket) => socket.resetAndDestroy());
  const get = guarded(loopbackEgress);
  for (let n = 0; n < 30; n += 1)
    await expect(get({ url: `http${n % 2 === 0 ? "" : "s"}://127.0.0.1:${port}/` })).rejects.toMatchObject({
      code: "connection_lost",
      isFinal: false,
    });
});
