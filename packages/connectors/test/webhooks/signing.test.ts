/** Signatures of webhooks, with the vectors that every language has, and with an independent implementation. */
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import vectors from "../../../../conformance/webhooks.json" with { type: "json" };
import { deriveKey, receiverSecret, type SigningKey } from "../../src/index.ts";
import { verifyLegacyWebhook, verifyWebhook } from "../../src/verify.ts";
import { hexHmac, legacySignature, readSigningKey, standardSignature } from "../../src/webhooks/signing.ts";

function keyOf(secret: string): SigningKey {
  const key = readSigningKey(secret);
  if (key === undefined) throw new Error(`${secret} is not a key`);
  return key;
}

function headersOf(one: {
  id: string;
  timestamp: number | string;
  signature: string;
}): Record<string, string> {
  return {
    "Webhook-Id": one.id,
    "webhook-timestamp": String(one.timestamp),
    "webhook-signature": one.signature,
  };
}

describe("Standard Webhooks", () => {
  test.for(vectors.standard)("$name is signed", ({ secrets, id, timestamp, body, signature }) => {
    const signed = standardSignature(secrets.map(keyOf), id, timestamp, Buffer.from(body));
    expect(signed).toBe(signature);
  });

  test.for(vectors.standard.filter(({ body }) => body !== ""))("$name is verified", async (vector) => {
    const receivers = [
      vector.receiver_secret ?? vector.secrets.map((secret) => receiverSecret(keyOf(secret))),
    ];
    for (const secret of receivers.flat()) {
      const now = new Date(vector.timestamp * 1000);
      const verified = await verifyWebhook({ body: vector.body, headers: headersOf(vector), secret, now });
      expect(verified).toEqual({ id: vector.id, timestamp: now, event: JSON.parse(vector.body) });
    }
  });

  test.for(vectors.refused)("$name is refused", async (vector) => {
    const refused = verifyWebhook({
      body: vector.body,
      headers: new Headers(headersOf(vector)),
      secret: vector.secret,
      now: new Date(vector.now * 1000),
    });
    await expect(refused).rejects.toMatchObject({ name: "WebhookVerificationError", code: vector.code });
  });

  test("one of several secrets is enough, and a body may be bytes", async () => {
    const [vector] = vectors.standard;
    if (vector === undefined) throw new Error("no vector");
    const verified = await verifyWebhook({
      body: Buffer.from(vector.body),
      headers: headersOf(vector),
      secret: [`whsec_${Buffer.alloc(32, 7).toString("base64")}`, ...vector.secrets],
      now: new Date(vector.timestamp * 1000),
    });
    expect(verified.id).toBe(vector.id);
  });

  test("the official library accepts our signature", () => {
    const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
    const timestamp = Math.floor(Date.now() / 1000);
    const body = '{"type":"a","data":{"text":"ü"}}';
    const signature = standardSignature([keyOf(secret)], "msg_1", timestamp, Buffer.from(body));
    const headers = headersOf({ id: "msg_1", timestamp, signature });
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
  });

  test("a request without the headers is refused", async () => {
    const refused = verifyWebhook({ body: "{}", headers: {}, secret: "whsec_AAAA" });
    await expect(refused).rejects.toMatchObject({ code: "missing_header" });
  });
});

describe("the older form", () => {
  test.for(vectors.legacy)("$name is signed", ({ algorithm, secret, body, signature }) => {
    expect(legacySignature(algorithm as "sha256" | "sha512", secret, Buffer.from(body))).toBe(signature);
  });

  test.for(vectors.timed)("$name is signed", ({ secret, timestamp, body, signature }) => {
    expect(`t=${timestamp},v1=${hexHmac("sha256", secret, `${timestamp}.${body}`)}`).toBe(signature);
  });

  test.for(vectors.legacy.slice(0, 2))("$name is verified by the time in its body", async (vector) => {
    const given = { body: vector.body, headers: { "X-JobForge-Signature": vector.signature } };
    const now = new Date("2026-01-02T03:04:30Z");
    const verified = await verifyLegacyWebhook({ ...given, secret: vector.secret, now });
    expect(verified.id).toBe("6f1c7c1e-9d1b-4f52-8b86-2f7f6f1a1b01");
    const later = { ...given, secret: vector.secret, now: new Date("2026-01-02T04:00:00Z") };
    await expect(verifyLegacyWebhook(later)).rejects.toMatchObject({ code: "too_old" });
    await expect(verifyLegacyWebhook({ ...given, secret: "other", now })).rejects.toMatchObject({
      code: "no_match",
    });
  });
});

test("a secret or a body of another form is refused with a code", async () => {
  const [vector] = vectors.standard;
  const [legacy] = vectors.legacy;
  if (vector === undefined || legacy === undefined) throw new Error("no vector");
  const now = new Date(vector.timestamp * 1000);
  for (const secret of [
    "",
    "whsec_",
    "whsec_c2hvcnQ=",
    `whpk_${Buffer.alloc(31).toString("base64")}`,
    "whsk_AAAA",
  ])
    await expect(
      verifyWebhook({ body: vector.body, headers: headersOf(vector), secret, now }),
      secret,
    ).rejects.toMatchObject({ name: "WebhookVerificationError", code: "invalid_secret" });
  await expect(
    verifyWebhook({ body: vector.body, headers: headersOf(vector), secret: [], now }),
  ).rejects.toMatchObject({ code: "no_match" });
  for (const body of ["null", "7", "[]", '{"event_id":7}']) {
    const headers = { "x-jobforge-signature": legacySignature("sha256", legacy.secret, Buffer.from(body)) };
    await expect(
      verifyLegacyWebhook({ body, headers, secret: legacy.secret, now }),
      body,
    ).rejects.toMatchObject({ name: "WebhookVerificationError", code: "invalid_body" });
  }
});

test.for(vectors.derived)("$name: the key of an endpoint is derived from the master key", (vector) => {
  const { master_key, tenant_id: tenantId, endpoint_id: endpointId, version } = vector;
  const key = deriveKey(Buffer.from(master_key, "base64"), { tenantId, endpointId, version });
  expect(receiverSecret(key)).toBe(vector.secret);
  expect(standardSignature([key], vector.id, vector.timestamp, Buffer.from(vector.body))).toBe(
    vector.signature,
  );
});
