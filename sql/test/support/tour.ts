/** A tour of the kernel's functions, each called as a worker, a tenant or an operator would call it. */

import { tenant } from "./cost.ts";
import type { Explained, ExplainingSession } from "./explain.ts";

/** A call that was made, with its name. */
export interface Call {
  readonly name: string;
  readonly explained: Explained<Record<string, unknown>>;
}

type Run = { id: string; tenant_id: string; attempts: number };

/** The tenant whose jobs are enqueued, steered and read. */
const T = tenant(1);

/**
 * Calls every function once, with new keys in each round, and returns the calls. Leaves some queued and finished jobs.
 */
export async function callEverything(session: ExplainingSession, round: number): Promise<Call[]> {
  const tour = new Tour(session, round);
  await tour.enqueue();
  await tour.work();
  await tour.settle();
  await tour.steer();
  await tour.read();
  await tour.operate();
  return tour.calls;
}

class Tour {
  readonly calls: Call[] = [];
  readonly #session: ExplainingSession;
  readonly #round: number;
  #queued: string[] = [];
  #held: Run[] = [];
  #finished: Run | undefined;

  constructor(session: ExplainingSession, round: number) {
    this.#session = session;
    this.#round = round;
  }

  async #call(name: string, sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
    const explained = await this.#session.run(sql, values);
    this.calls.push({ name, explained });
    return explained.rows;
  }

  /** Makes a call that returns one document. */
  async #ask<Result>(name: string, sql: string, ...values: unknown[]): Promise<Result> {
    const [row] = await this.#call(name, `select ${sql} as answer`, ...values);
    return row?.["answer"] as Result;
  }

  async enqueue(): Promise<void> {
    const key = `round ${this.#round}`;
    const one = (
      name: string,
      more: string,
      ...values: unknown[]
    ): Promise<{ id: string; outcome: string }> =>
      this.#ask(name, `jobforge_enqueue_job($1, 'a', ${more})`, T, ...values);
    await one("enqueue_job", "p_payload => '{}'");
    await one(
      "enqueue_job, a large payload",
      "p_payload => jsonb_build_object('x', repeat(random()::text, 500))",
    );
    await one(
      "enqueue_job, later",
      "p_run_at => now() + interval '1 day', p_expires_at => now() + interval '2 days'",
    );
    for (const outcome of ["new", "known"])
      await one(`enqueue_job, a ${outcome} idempotency key`, "p_idempotency_key => $2", key);
    for (const mode of ["skip", "replace", "debounce"]) {
      const more = "p_dedupe_key => $2, p_dedupe_mode => $3, p_subject => 'some', p_tags => '{x}'";
      await one(`enqueue_job, dedupe ${mode}`, more, key, mode);
    }
    const jobs = Array.from({ length: 40 }, (_, n) => ({
      // No worker handles this type, so these jobs stay queued and can be steered.
      type: n % 6 === 5 ? "steered" : "a",
      ...(n % 3 === 0 ? { idempotency_key: `${key} ${n % 50}` } : {}),
      ...(n % 3 === 1 ? { dedupe_key: `${key} ${n % 50}`, dedupe_mode: "replace" } : {}),
    }));
    const answer = await this.#ask<{ id: string; outcome: string }[]>(
      "enqueue_jobs",
      "jobforge_enqueue_jobs($1, $2)",
      T,
      JSON.stringify(jobs),
    );
    this.#queued = answer.filter((_, n) => n % 6 === 5).map(({ id }) => id);
  }

  async work(): Promise<void> {
    const sql = "select * from jobforge_claim_jobs('w', 10, $1)";
    this.#held = (await this.#call("claim_jobs", sql, ["a"])) as Run[];
    await this.#call("claim_jobs, no job", sql, ["none"]);
    await this.#call(
      "claim_jobs, one tenant",
      "select * from jobforge_claim_jobs('w2', 1, array['a'], $1)",
      T,
    );
    const [first, second, third, fourth] = this.#held;
    await this.#ask("heartbeat_job", "jobforge_heartbeat_job($1, 'w')", first?.id);
    await this.#ask("progress_job", "jobforge_progress_job($1, 'w', '{\"done\": 1}')", first?.id);
    await this.#ask(
      "complete_job, succeeded",
      "jobforge_complete_job($1, 'w', 'succeeded', p_result => '{}')",
      first?.id,
    );
    await this.#ask("complete_job, failed", "jobforge_complete_job($1, 'w', 'failed')", second?.id);
    await this.#ask(
      "complete_job, refused",
      "jobforge_complete_job($1, 'w', 'failed', p_retry => false)",
      third?.id,
    );
    await this.#ask("defer_job", "jobforge_defer_job($1, 'w', now() + interval '1 day')", fourth?.id);
    this.#finished = third;
    this.#held = this.#held.slice(4);
    const held = JSON.stringify({
      instance: "i",
      types: ["a"],
      held: this.#held.map(({ id, attempts }) => ({ id, attempt: attempts })),
    });
    await this.#ask("heartbeat_worker", "jobforge_heartbeat_worker('w', $1)", held);
  }

  async settle(): Promise<void> {
    type Settlement = { settled: { outcome: string }[]; jobs: Run[]; hint: unknown };
    let hint: string | null = null;
    const settle = async (name: string, ends: object[], claim: number): Promise<void> => {
      const results = this.#held.map(({ id, attempts }, n) => ({
        id,
        attempt: attempts,
        ...ends[n % ends.length],
      }));
      const sql = "jobforge_settle_jobs('w', $1, $2, array['a'], null, $3)";
      const answer: Settlement = await this.#ask(name, sql, JSON.stringify(results), claim, hint);
      const refused = answer.settled.find(({ outcome }) => outcome !== "ok");
      if (refused !== undefined || answer.jobs.length !== claim)
        throw new Error(`${name}: ${JSON.stringify(answer)}`);
      this.#held = answer.jobs;
      hint = JSON.stringify(answer.hint);
    };
    const done = { status: "succeeded" };
    await settle("settle_jobs and claim", [done], 10);
    await settle("settle_jobs and claim with a hint", [{ ...done, result: { x: 1 } }], 10);
    const children = [
      { type: "a" },
      { type: "a", dedupe_key: "child" },
      { type: "a", idempotency_key: `child ${this.#round}` },
    ];
    await settle("settle_jobs with children", [{ ...done, children }], 4);
    const again = [
      { status: "failed" },
      { status: "failed", retry: false },
      { status: "deferred" },
      { status: "released" },
    ];
    await settle("settle_jobs with failures", again, 4);
  }

  async steer(): Promise<void> {
    const [first, second, third] = this.#queued;
    const [running] = this.#held;
    await this.#ask("cancel_job, queued", "jobforge_cancel_job($1, $2)", first, T);
    await this.#ask("cancel_job, running", "jobforge_cancel_job($1, $2)", running?.id, running?.tenant_id);
    await this.#ask(
      "reschedule_job, queued",
      "jobforge_reschedule_job($1, $2, now() + interval '1 hour')",
      second,
      T,
    );
    await this.#ask(
      "reschedule_job, failed",
      "jobforge_reschedule_job($1, $2)",
      this.#finished?.id,
      this.#finished?.tenant_id,
    );
    await this.#ask(
      "update_job",
      "jobforge_update_job($1, $2, $3)",
      third,
      T,
      '{"payload": {"x": 2}, "priority": -1, "tags": ["y"]}',
    );
    await this.#ask("cancel_jobs", 'jobforge_cancel_jobs($1, \'{"type": "a", "subject": "some"}\', 5)', T);
    await this.#ask(
      "reschedule_jobs",
      'jobforge_reschedule_jobs($1, \'{"status": ["failed", "dead"]}\', 5)',
      T,
    );
  }

  async read(): Promise<void> {
    await this.#call("get_job, live", "select * from jobforge_get_job($1, $2)", this.#queued[4], T);
    await this.#call("get_job, finished", "select * from jobforge_get_job($1, $2)", this.#queued[0], T);
    const filters = [
      {},
      { status: "queued" },
      { status: "running" },
      { status: ["failed", "dead"] },
      { type: "a" },
      { subject: "some" },
      { tags: ["y"] },
    ];
    for (const filter of filters) {
      const json = JSON.stringify(filter);
      await this.#call(`list_jobs ${json}`, "select * from jobforge_list_jobs($1, $2)", T, json);
    }
  }

  async operate(): Promise<void> {
    await this.#ask("watch_job", "jobforge_watch_job($1, $2)", this.#queued[5], T);
    await this.#ask("set_gate, paused", "jobforge_set_gate('type', 'a', true, 'a test')");
    await this.#call("claim_jobs, paused", "select * from jobforge_claim_jobs('w', 10, array['a'])");
    await this.#ask("set_gate, resumed", "jobforge_set_gate('type', 'a', false)");
    await this.#ask("maintain", "jobforge_maintain()");
  }
}
