/** The input of a handler: the payload, read from the artifact store if it is there, and checked. */
import { checkInput, isStoredValue } from "@jobforge/sdk-ts";
import type { Backend } from "../backend.ts";
import { conclude, refusal } from "./ending.ts";
import { readStored } from "./offloading.ts";
import type { Run, Verdict } from "./run.ts";

/** The input, or how the run ends without its handler: it was aborted, or its payload is invalid. */
export type Input = { readonly value: unknown } | { readonly end: Verdict };

export async function readInput(run: Run, backend: Backend): Promise<Input> {
  if (run.aborted !== undefined) return { end: { status: "released" } };
  const { definition } = run.type.handler;
  let { payload } = run.job;
  try {
    if (isStoredValue(payload)) payload = await readStored(run, payload, backend);
  } catch (error) {
    // Another worker may have the store, and a store that is down may be available again.
    return { end: await conclude(run, { thrown: error }) };
  }
  if (definition.input === undefined) return { value: payload };
  try {
    return { value: await checkInput(definition, payload) };
  } catch (error) {
    return { end: refusal(error) };
  }
}
