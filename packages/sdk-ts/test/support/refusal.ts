/** What tests of wrong arguments share. */
import { expect } from "vitest";
import type { CallArguments, JobForgeError, Transport } from "../../src/index.ts";

export interface Recorder {
  readonly transport: Transport;
  readonly calls: { name: string; args: CallArguments }[];
}

/** A transport that only records calls. */
export function recorder(): Recorder {
  const calls: Recorder["calls"] = [];
  const transport: Transport = {
    call: async <A>(name: string, args: CallArguments) => {
      calls.push({ name, args });
      return {} as A;
    },
    close: async () => undefined,
  };
  return { transport, calls };
}

export async function refusal(work: () => unknown): Promise<JobForgeError> {
  try {
    await work();
  } catch (error) {
    return error as JobForgeError;
  }
  return expect.fail("it was accepted");
}

/** A value that only a program without types, or with wrong casts, can pass. */
export function wrong(value: unknown): never {
  return value as never;
}
