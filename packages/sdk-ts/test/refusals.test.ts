/** Connections that are refused: the error says what to do, and that waiting does not help. */
import { expect, test as plain } from "vitest";
import { test } from "../../../test/database.ts";
import { defineJob, globalTenant, JobForge } from "../src/index.ts";
import { fromDriverError } from "../src/transport/error-mapping.ts";

test("a server without TLS refuses a URL that requires it", async ({ db }) => {
  const url = new URL(db.url);
  url.searchParams.set("sslmode", "no-verify");
  await using forge = new JobForge({ database: url.href });
  const job = defineJob({ type: "mail.send" });
  await expect(forge.enqueue(job, {}, { tenantId: globalTenant })).rejects.toMatchObject({
    name: "ConnectionError",
    retryable: false,
    hint: "Remove sslmode from the database URL, or enable TLS in the server.",
  });
});

plain.for([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", "08000", "sslrootcert=FILE"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain", "08000", "sslrootcert=FILE"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate", "08000", "sslrootcert=FILE"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "Hostname/IP does not match certificate", "08000", "Use the host name"],
  ["CERT_HAS_EXPIRED", "certificate has expired", "08000", "this machine's clock"],
  [
    "28000",
    'no pg_hba.conf entry for host "10.0.0.1", user "u", database "d", no encryption',
    "28000",
    "?sslmode=require",
  ],
  [
    "28000",
    'no pg_hba.conf entry for host "10.0.0.1", user "u", database "d", SSL encryption',
    "28000",
    "The server's pg_hba.conf",
  ],
  ["28000", "no PostgreSQL user name specified in startup packet", "28000", "Write the user name"],
  ["28P01", 'password authentication failed for user "u"', "28P01", "Percent-encode"],
  ["3D000", 'database "d" does not exist', "3D000", "create the database"],
])("%s: %s", ([code = "", message = "", expected = "", hint = ""]) => {
  expect(fromDriverError(Object.assign(new Error(message), { code }))).toMatchObject({
    ...{ name: "ConnectionError", message, code: expected, retryable: false },
    hint: expect.stringContaining(hint),
  });
});
