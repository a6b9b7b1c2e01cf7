/** A server that speaks the protocol of S3 and checks signatures: moto. One for each test file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll } from "vitest";
import type { Tool } from "../../../../scripts/tools.js";
import { S3Client } from "../../src/artifacts/s3-client.ts";

export interface TestS3 {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** The calls below that set up a user. After them, the server checks the signature of every request. */
const setupCalls = 3;
const policy = {
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "*" }],
};

export async function startS3({ path, env }: Tool): Promise<TestS3> {
  const process = spawn(path, ["-H", "127.0.0.1", "-p", "0"], {
    env: { ...env, INITIAL_NO_AUTH_ACTION_COUNT: String(setupCalls), PYTHONUNBUFFERED: "1" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  afterAll(async () => {
    process.kill("SIGKILL");
    if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
  });
  const endpoint = await addressIn(process.stderr);
  const bucket = "artifacts";
  const iam = async (action: string, more: Record<string, string> = {}): Promise<string> => {
    const body = new URLSearchParams({ Action: action, UserName: "test", Version: "2010-05-08", ...more });
    const scope = "Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=x";
    const authorization = `AWS4-HMAC-SHA256 ${scope}`;
    const response = await fetch(endpoint, { method: "POST", headers: { authorization }, body });
    return await response.text();
  };
  await iam("CreateUser");
  await iam("PutUserPolicy", { PolicyName: "all", PolicyDocument: JSON.stringify(policy) });
  const keys = await iam("CreateAccessKey");
  const accessKey = textOf(keys, "AccessKeyId");
  const secretKey = textOf(keys, "SecretAccessKey");
  await new S3Client({ endpoint, bucket, accessKey, secretKey }).send("PUT", "");
  return { endpoint, bucket, accessKey, secretKey };
}

async function addressIn(output: NodeJS.ReadableStream): Promise<string> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: output })) {
    lines.push(line);
    const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (address === undefined) continue;
    output.resume();
    return address;
  }
  throw new Error(`moto did not start: ${lines.join("\n")}`);
}

function textOf(xml: string, name: string): string {
  const [, text = ""] = new RegExp(`<${name}>([^<]+)<`).exec(xml) ?? [];
  if (text === "") throw new Error(`There is no ${name} in ${xml}`);
  return text;
}
