/** Inputs and outputs of pure functions, from conformance/vectors. The kernel and every SDK are tested with them. */
import { readFileSync } from "node:fs";

function read<T>(name: string): T {
  const file = new URL(`../conformance/vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")) as T;
}

/** A value that the kernel and the log of a worker must mask in the same way. No secret is real. */
interface RedactionCase {
  readonly name: string;
  readonly value: unknown;
  readonly masked: unknown;
  /** Keys that the type's policy lists. */
  readonly listed?: readonly string[];
}

export const redactionCases: readonly RedactionCase[] = read("redaction");

interface ErrorVectors {
  /** Stored errors, with the one line that says what happened. */
  readonly lines: readonly {
    readonly name: string;
    readonly error: Readonly<Record<string, unknown>> & { readonly message: string };
    readonly line: string;
  }[];
  /** Texts that are cut to this length before they are masked. */
  readonly cutLength: number;
  readonly cuts: readonly { readonly name: string; readonly text: string; readonly cut: string }[];
}

export const errorVectors: ErrorVectors = read("errors");

interface Waits {
  readonly base_ms: number;
  readonly cap_ms: number | null;
  readonly factor: number;
}

interface BackoffVectors {
  /** Every preset under all its names, with its waits after each failure but the last. */
  readonly presets: readonly (Waits & {
    readonly names: readonly string[];
    readonly max_attempts: number;
    readonly waits_ms: readonly number[];
  })[];
  /** The wait after the n-th failure. */
  readonly waits: readonly (Waits & { readonly failures: number; readonly ms: number })[];
  /** The longest wait of a worker before it repeats a failed call, after this many failures; the shortest is half. */
  readonly outage: readonly { readonly times: number; readonly longest_ms: number }[];
}

export const backoffVectors: BackoffVectors = read("backoff");

interface ArgumentCase {
  readonly name: string;
  /** The options of an enqueue in snake_case; `delay` is in seconds. */
  readonly options: Readonly<Record<string, unknown>>;
}

interface ArgumentVectors {
  readonly accepted: readonly ArgumentCase[];
  readonly refused: readonly (ArgumentCase & { readonly field: string })[];
  readonly types: { readonly accepted: readonly string[]; readonly refused: readonly string[] };
}

export const argumentVectors: ArgumentVectors = read("arguments");

interface JsonVectors {
  readonly payloads: {
    readonly accepted: readonly unknown[];
    readonly refused: readonly { readonly name: string; readonly field: string; readonly value: unknown }[];
  };
  /** What a result becomes when it is stored. */
  readonly results: readonly { readonly name: string; readonly value: unknown; readonly stored: unknown }[];
}

export const jsonVectors: JsonVectors = read("json");

interface TenantIdVectors {
  readonly namespace: string;
  readonly mapped: readonly { readonly text: string; readonly uuid: string }[];
  readonly spelled: readonly { readonly text: string; readonly uuid: string }[];
  readonly refused: readonly string[];
  readonly numbers: readonly { readonly number: number; readonly text: string }[];
  readonly refusedClaims: readonly string[];
}

export const tenantIdVectors: TenantIdVectors = read("tenant-id");
