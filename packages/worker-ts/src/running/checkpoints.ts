/** The checkpoints of one run: what earlier executions of the job have saved, and what this one saves. */
import type { Transport } from "@jobforge/sdk-ts";
import type { RunError, RunKey } from "../claiming/protocol.ts";
import { callTimeoutMs } from "../defaults.ts";

export interface Checkpoint {
  readonly name: string;
  readonly kind?: "step" | "sleep" | "wait" | "version" | undefined;
  readonly value?: unknown;
  readonly error?: RunError | undefined;
  /** How often the step was tried. */
  readonly tries?: number | undefined;
  /** False for a wait that is not over, and for a step that is tried again. */
  readonly done?: boolean | undefined;
}

export interface ChildResult {
  readonly index: number;
  readonly job_id: string | null;
  /** Of a child that is a workflow. */
  readonly workflow_id?: string | undefined;
  readonly status: "succeeded" | "failed" | "dead" | "canceled" | "skipped";
  readonly result: unknown;
  readonly error: RunError | null;
}

export interface ResultPage {
  readonly items: readonly ChildResult[];
  /** Pass it for the next page; null after the last one. */
  readonly next: number | null;
}

interface Page {
  readonly steps: readonly Checkpoint[];
  readonly cursor: string | null;
}

type Taken =
  | { readonly pending: true }
  | { readonly timed_out: true }
  | { readonly signal: string; readonly payload: unknown };

const options = { timeoutMs: callTimeoutMs };

export class Checkpoints {
  readonly #run: RunKey;
  readonly #fence: Readonly<Record<string, unknown>>;
  readonly #transport: Transport;
  readonly #reached = new Set<string>();
  #loaded: Promise<ReadonlyMap<string, Checkpoint>> | undefined;

  constructor(run: RunKey, workerId: string, transport: Transport) {
    this.#run = run;
    this.#fence = { p_job_id: run.id, p_worker_id: workerId, p_attempt: run.attempt };
    this.#transport = transport;
  }

  /** The checkpoint of a name that the handler has reached. */
  async reach(name: string): Promise<Checkpoint | undefined> {
    this.#reached.add(name);
    return (await this.#load()).get(name);
  }

  /** Whether earlier executions got further than this one has. */
  async hasUnreached(): Promise<boolean> {
    return [...(await this.#load()).keys()].some((name) => !this.#reached.has(name));
  }

  async save(
    checkpoint: Checkpoint,
    transport: Transport = this.#transport,
  ): Promise<{ readonly cancel_requested: boolean }> {
    return await transport.call("jobforge_save_steps", { ...this.#fence, p_steps: [checkpoint] }, options);
  }

  async take(wait: string): Promise<Taken> {
    return await this.#transport.call("jobforge_take_signal", { ...this.#fence, p_wait: wait }, options);
  }

  /** How the children of a wait ended, in order. */
  async results(wait: string): Promise<readonly ChildResult[]> {
    const results: ChildResult[] = [];
    for (let after: number | null = -1; after !== null; ) {
      const page: ResultPage = await this.resultsAfter(wait, after);
      results.push(...page.items);
      after = page.next;
    }
    return results;
  }

  /** A page of results: of the children of a wait, or of a step of the workflow. */
  async resultsAfter(step: string, after: number): Promise<ResultPage> {
    const args = { ...this.#fence, p_step: step, p_after: after };
    return await this.#transport.call("jobforge_read_results", args, options);
  }

  #load(): Promise<ReadonlyMap<string, Checkpoint>> {
    this.#loaded ??= this.#read();
    return this.#loaded;
  }

  /** A first execution has nothing to load. */
  async #read(): Promise<ReadonlyMap<string, Checkpoint>> {
    const found = new Map<string, Checkpoint>();
    if (this.#run.attempt === 1) return found;
    for (let after: string | null | undefined; after !== null; ) {
      const page: Page = await this.#transport.call(
        "jobforge_load_steps",
        { ...this.#fence, p_after: after },
        options,
      );
      for (const checkpoint of page.steps) found.set(checkpoint.name, checkpoint);
      after = page.cursor;
    }
    return found;
  }
}
