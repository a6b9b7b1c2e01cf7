/** The helper for receivers, where there is nothing but what edge runtimes, browsers and Node have in common. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import ts from "typescript";
import { expect, test } from "vitest";
import vectors from "../../../../conformance/webhooks.json" with { type: "json" };

type Helper = typeof import("../../src/verify.ts");

/** The helper in a context of its own: without `process`, `Buffer`, `require` and the modules of Node. */
const source = await readFile(join(import.meta.dirname, "../../src/verify.ts"), "utf8");
const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
const helper = {} as Helper;
runInContext(
  ts.transpileModule(source, { compilerOptions }).outputText,
  createContext({ exports: helper, crypto, atob, TextEncoder, TextDecoder }),
);

test.for(vectors.standard.filter(({ body }) => body !== ""))("$name is verified", async (vector) => {
  // A receiver of V6 has the public key. The others have the secret.
  const secret = vector.receiver_secret ?? vector.secrets;
  const headers = new Headers({
    "webhook-id": vector.id,
    "webhook-timestamp": String(vector.timestamp),
    "webhook-signature": vector.signature,
  });
  const now = new Date(vector.timestamp * 1000);
  expect((await helper.verifyWebhook({ body: vector.body, headers, secret, now })).id).toBe(vector.id);
  await expect(helper.verifyWebhook({ body: `${vector.body} `, headers, secret, now })).rejects.toMatchObject(
    {
      code: "no_match",
    },
  );
});

test.for(vectors.legacy.slice(0, 2))("$name is verified", async ({ body, secret, signature }) => {
  const headers = { "x-jobforge-signature": signature };
  const now = new Date("2026-01-02T03:04:30Z");
  expect((await helper.verifyLegacyWebhook({ body, headers, secret, now })).id).toMatch(/^[0-9a-f-]{36}$/);
});
