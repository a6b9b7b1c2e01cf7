/**
 * The stage of a scenario: the kernel and the model, the memory of each worker's process, and the open transactions.
 * The model first predicts each call. Then the call is made and compared.
 */
import type { Kernel, KernelResult, Session, SessionName } from "../kernel.ts";
import { boundTenant, startTime } from "../kernel.ts";
import type { End, RunReference } from "../runs.ts";
import type { Breadth } from "../scenario.ts";
import { type Job, Model, Refusal, Shared, type Transaction, Waits } from "../state.ts";
import { boundWorker, type DrawnRun, type JobReference, type Via, workerCount } from "../steps.ts";

/** The kernel did not do what the model predicts. */
export class Divergence extends Error {}

/** Fails the scenario unless both values are the same. */
export function same(what: string, actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Divergence(`${what} is ${is}, should be ${should}`);
}

export interface Report {
  readonly run: RunReference;
  readonly end: End;
}

/** A settle as it was sent, so that it can be repeated. */
export interface Settle {
  readonly reports: readonly Report[];
  readonly limit: number;
  readonly types: readonly string[] | null;
  readonly tenant: string | null;
  readonly hint: unknown;
}

/** The memory of a worker's process. A crash clears it. */
export interface Process {
  readonly name: string;
  readonly bound: string | null;
  readonly session: SessionName;
  instance: number;
  held: RunReference[];
  hint: unknown;
  sent: Settle | null;
}

/** A call of the kernel. */
export interface Call {
  readonly session: SessionName;
  readonly sql: string;
  readonly values: readonly unknown[];
  /** The tenant that the application's session sets. */
  readonly tenant?: string;
}

/** The outcome of a step that did nothing. */
export const idle = "nothing to do";

export class Stage {
  readonly kernel: Kernel;
  readonly breadth: Breadth;
  readonly shared = new Shared(startTime);
  readonly base: Model = new Model(this.shared);
  readonly processes: readonly Process[];
  /** Runs that a process held earlier. */
  readonly past: RunReference[] = [];
  /** A description of the current step. */
  doing = "";
  readonly #transactions = new Map<Via, Transaction>();
  readonly #ids = new Map<string, string>();
  readonly #names = new Map<string, string>();
  #marks = 0;

  constructor(kernel: Kernel, breadth: Breadth) {
    this.kernel = kernel;
    this.breadth = breadth;
    this.processes = Array.from({ length: workerCount }, (_, number) => ({
      name: `w${number}`,
      bound: number === boundWorker ? boundTenant : null,
      session: number === boundWorker ? "bound" : "worker",
      instance: 1,
      held: [],
      hint: null,
      sent: null,
    }));
  }

  get now(): number {
    return this.shared.now;
  }

  nextMark(): number {
    this.#marks += 1;
    return this.#marks;
  }

  process(worker: number): Process {
    const process = this.processes[worker % workerCount];
    if (process === undefined) throw new Error(`there is no worker ${worker}`);
    return process;
  }

  /** Returns the worker for a step on runs: one that holds runs, if any does. */
  busyProcess(worker: number): Process {
    const meant = this.process(worker);
    const busy = this.processes.filter((process) => process.held.length > 0);
    return meant.held.length > 0 ? meant : (busy[worker % busy.length] ?? meant);
  }

  // Names and ids: the model names jobs before the kernel has returned their ids.

  bind(name: string, id: string): void {
    const known = this.#ids.get(name);
    if (known !== undefined) {
      same(`the id of ${name}`, id, known);
      return;
    }
    const other = this.#names.get(id);
    if (other !== undefined) throw new Divergence(`${name} has the id of ${other}`);
    this.#ids.set(name, id);
    this.#names.set(id, name);
  }

  idOf(name: string): string {
    const id = this.#ids.get(name);
    if (id === undefined) throw new Error(`the id of ${name} is not known yet`);
    return id;
  }

  hasId(name: string): boolean {
    return this.#ids.has(name);
  }

  nameOf(id: string): string | undefined {
    return this.#names.get(id);
  }

  /** Returns the jobs newest first, as in lists. */
  newestFirst(jobs: readonly Job[]): Job[] {
    const ids = new Map(jobs.map((job) => [job, this.idOf(job.name)]));
    return [...jobs].sort((a, b) => ((ids.get(a) ?? "") < (ids.get(b) ?? "") ? 1 : -1));
  }

  // References: numbers modulo the number of existing jobs or runs.

  /** Returns the job that a step refers to, as the session sees it. */
  pickJob(reference: JobReference, via: Via = "direct"): Job | undefined {
    const jobs = this.model(via)
      .known()
      .filter((job) => this.hasId(job.name));
    const wanted = jobs.filter(({ status }) => {
      if (reference.of === "any") return true;
      return reference.of === "finished" ? !["queued", "running"].includes(status) : status === reference.of;
    });
    const pool = wanted.length > 0 ? wanted : jobs;
    // Prefers new jobs, so that several steps use the same jobs.
    return pool[pool.length - 1 - (reference.pick % pool.length)];
  }

  /** Returns the run that a step of a worker refers to. */
  pickRun(process: Process, drawn: DrawnRun): RunReference | undefined {
    const runs = drawn.isPast && this.past.length > 0 ? this.past : process.held;
    return runs[drawn.pick % runs.length];
  }

  // Transactions that stay open.

  /** Returns the state as a session sees it. */
  model(via: Via): Model {
    return this.#transactions.get(via)?.levels.at(-1) ?? this.base;
  }

  transaction(via: Via): Transaction | undefined {
    return this.#transactions.get(via);
  }

  async begin(via: Via): Promise<Transaction> {
    const transaction: Transaction = { levels: [] };
    await this.#session(via).run("begin");
    transaction.levels.push(this.base.above(transaction));
    this.#transactions.set(via, transaction);
    this.shared.open.add(transaction);
    return transaction;
  }

  async end(via: Via, how: "commit" | "rollback"): Promise<void> {
    const transaction = this.#transactions.get(via);
    if (transaction === undefined) return;
    await this.#session(via).run(how);
    this.#transactions.delete(via);
    this.shared.open.delete(transaction);
    if (how === "commit") for (const level of [...transaction.levels].reverse()) level.merge();
  }

  async savepoint(via: Via, how: "set" | "release" | "back"): Promise<boolean> {
    const levels = this.#transactions.get(via)?.levels;
    const top = levels?.at(-1);
    if (levels === undefined || top === undefined || (how !== "set" && levels.length < 2)) return false;
    const name = `level_${how === "set" ? levels.length : levels.length - 1}`;
    if (how === "set") {
      await this.#session(via).run(`savepoint ${name}`);
      levels.push(top.above());
      return true;
    }
    await this.#session(via).run(
      how === "release" ? `release ${name}` : `rollback to ${name}; release ${name}`,
    );
    levels.pop();
    if (how === "release") top.merge();
    return true;
  }

  #session(name: SessionName | "direct"): Session {
    return this.kernel.sessions[name === "direct" ? "operator" : name];
  }

  // Calls.

  /** Predicts a call, makes it, compares its result and then updates the model. Does nothing if the call would wait. */
  async perform<Prediction>(
    via: Via,
    call: Call,
    predict: (model: Model) => Prediction,
    compare: (predicted: Prediction, rows: readonly unknown[], model: Model) => string,
  ): Promise<string> {
    const draft = this.model(via).above();
    let predicted: { result: Prediction } | Refusal;
    try {
      predicted = { result: predict(draft) };
    } catch (error) {
      if (error instanceof Waits) return `${idle}: it would wait`;
      if (!(error instanceof Refusal)) throw error;
      predicted = error;
    }
    // The layer must be above the transaction's, which begins only when there is a call to make in it.
    if (via !== "direct" && this.transaction(via) === undefined) {
      await this.begin(via);
      return await this.perform(via, call, predict, compare);
    }
    const answer = await this.call(via, call);
    if (predicted instanceof Refusal) {
      requireRefusal(predicted.code, answer);
      return `refused with ${predicted.code}`;
    }
    if (answer.code !== null) throw new Divergence(`refused with ${answer.code}: ${answer.message}`);
    const outcome = compare(predicted.result, answer.rows, draft);
    draft.merge();
    return outcome;
  }

  /** Makes a call that must be refused. */
  async refuse(call: Call, code: string): Promise<string> {
    requireRefusal(code, await this.call("direct", call));
    return `refused with ${code}`;
  }

  /** Makes a call. A refusal does not change an open transaction. */
  async call(via: Via, call: Call): Promise<KernelResult> {
    const session = this.kernel.sessions[call.session];
    if (via === "direct") return await session.call(this.now, call.sql, call.values, call.tenant);
    await session.run("savepoint step");
    const answer = await session.call(this.now, call.sql, call.values, call.tenant);
    await session.run(answer.code === null ? "release step" : "rollback to step; release step");
    return answer;
  }
}

function requireRefusal(code: string, answer: KernelResult): void {
  if (answer.code === code) return;
  const actual =
    answer.code === null ? `accepted: ${JSON.stringify(answer.rows)}` : `refused with ${answer.code}`;
  throw new Divergence(`${actual}, should be refused with ${code}`);
}
