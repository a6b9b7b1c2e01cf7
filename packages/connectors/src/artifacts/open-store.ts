/** Opens the store that an address names, such as the variable JOBFORGE_ARTIFACTS. */
import { resolve } from "node:path";
import type { ArtifactStore } from "@jobforge/sdk-ts";
import { fileStore } from "./file-store.ts";
import { s3Store } from "./s3-store.ts";

export interface OpenStoreOptions {
  /** Has the credentials of S3. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where relative paths begin. Default: the working directory. */
  readonly cwd?: string | undefined;
}

const parameters = ["endpoint", "region", "path_style"];

/**
 * Opens `file:PATH` or `s3://BUCKET/PREFIX?endpoint=…&region=…&path_style=false`. The credentials of S3 are
 * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; they are never part of the address.
 */
export function openStore(
  address = "file:.jobforge/artifacts",
  { env = process.env, cwd = process.cwd() }: OpenStoreOptions = {},
): ArtifactStore {
  if (address.startsWith("file:")) return fileStore(resolve(cwd, address.slice("file:".length)));
  if (!address.startsWith("s3://") || !URL.canParse(address))
    throw new TypeError("The address of an artifact store must begin with file: or s3://");
  const { hostname: bucket, pathname, searchParams, username } = new URL(address);
  const unknown = [...searchParams.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`An S3 store has no parameter ${unknown}. Known: ${parameters.join(", ")}`);
  if (username !== "")
    throw new TypeError("Pass the credentials of S3 in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  return s3Store({
    bucket,
    prefix: decodeURIComponent(pathname).replace(/^\/+/, "") || undefined,
    endpoint: searchParams.get("endpoint") ?? undefined,
    region: searchParams.get("region") ?? (env["AWS_REGION"] || undefined),
    pathStyle: searchParams.get("path_style") !== "false",
    accessKey: env["AWS_ACCESS_KEY_ID"] || undefined,
    secretKey: env["AWS_SECRET_ACCESS_KEY"] || undefined,
    sessionToken: env["AWS_SESSION_TOKEN"] || undefined,
  });
}
