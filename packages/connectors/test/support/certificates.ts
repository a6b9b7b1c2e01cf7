/** A certificate authority for tests, and certificates for names, made with openssl. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface TestAuthority {
  /** The certificate of the authority, for `ca` of a policy. */
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

/** Creates an authority and one certificate for the given names. */
export async function certificatesFor(...names: readonly string[]): Promise<TestAuthority> {
  const folder = await mkdtemp(join(tmpdir(), "jobforge-ca-"));
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]): Promise<unknown> => run("openssl", [...args]);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  try {
    await openssl(
      "req",
      "-x509",
      ...key,
      "-keyout",
      file("ca.key"),
      "-out",
      file("ca.crt"),
      "-subj",
      "/CN=Test CA",
      "-days",
      "2",
    );
    await openssl("req", ...key, "-keyout", file("key"), "-out", file("csr"), "-subj", `/CN=${names[0]}`);
    await writeFile(file("ext"), `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}`);
    await openssl(
      "x509",
      "-req",
      "-in",
      file("csr"),
      "-CA",
      file("ca.crt"),
      "-CAkey",
      file("ca.key"),
      "-CAcreateserial",
      "-days",
      "2",
      "-extfile",
      file("ext"),
      "-out",
      file("crt"),
    );
    const [ca, own, cert] = await Promise.all(
      ["ca.crt", "key", "crt"].map((name) => readFile(file(name), "utf8")),
    );
    return { ca: ca ?? "", key: own ?? "", cert: cert ?? "" };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
