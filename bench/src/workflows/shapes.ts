/** The graphs of the benchmark of workflows, as SQL that starts one for the tenant $1, and the loop that runs them. */

/** A call that starts a workflow whose steps a query makes, in the order of n. */
function start(steps: string): string {
  return `select jobforge_start_workflow($1, 'bench', (select jsonb_agg(s.step order by s.n) from (${steps}) s))`;
}

export const shapes = {
  independent: (count: number): string =>
    start(
      `select n, jsonb_build_object('name', 's' || n, 'type', 'bench') as step from generate_series(1, ${count}) n`,
    ),

  join: (count: number): string =>
    start(`select n, jsonb_build_object('name', 's' || n, 'type', 'bench') as step from generate_series(1, ${count}) n
      union all
      select ${count} + 1, jsonb_build_object('name', 'join', 'type', 'bench', 'needs', (
        select jsonb_agg('s' || n) from generate_series(1, ${count}) n))`),

  map: (count: number): string =>
    start(`select 1 as n, jsonb_build_object('name', 'each', 'type', 'bench', 'map', jsonb_build_object('over', (
        select jsonb_agg(n) from generate_series(1, ${count}) n))) as step
      union all
      select 2, '{"name": "join", "type": "bench", "needs": ["each"]}'`),

  /** Each item of a list of the input is the payload of a job, as of a list that another step returned. */
  mapOfInput: (count: number): string => `
    select jobforge_start_workflow($1, 'bench', '[
      {"name": "each", "type": "bench", "map": {"over": {"$input": "list"}},
        "payload": {"file": {"$item": "name"}, "n": {"$index": true}}},
      {"name": "join", "type": "bench", "needs": ["each"]}]',
      (select jsonb_build_object('list', jsonb_agg(jsonb_build_object('name', 'file-' || n))) from generate_series(1, ${count}) n))`,

  /** Chains side by side in one workflow. */
  chains: (count: number, length: number): string =>
    start(`select n, jsonb_build_object('name', 's' || n, 'type', 'bench')
        || case when n % ${length} = 1 then '{}' else jsonb_build_object('needs', jsonb_build_array('s' || n - 1)) end
        as step
      from generate_series(1, ${count * length}) n`),
};

/** A call that enqueues jobs in no workflow. */
export function plainJobs(count: number): string {
  return `select jobforge_enqueue_jobs($1, (select jsonb_agg('{"type": "bench"}'::jsonb) from generate_series(1, ${count})))`;
}

/** Each step needs one to four of the 200 steps before it. The same in every run. */
export function randomGraph(count: number): string {
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const steps = Array.from({ length: count }, (_, n) => {
    const needs = new Set(
      Array.from({ length: n === 0 ? 0 : 1 + random(4) }, () => n - 1 - random(Math.min(n, 200))),
    );
    return { name: `s${n}`, type: "bench", needs: [...needs].map((need) => `s${need}`) };
  });
  return `select jobforge_start_workflow($1, 'bench', '${JSON.stringify(steps)}')`;
}

/** One settler: settles the last batch and claims the next one, with a commit for each, until nothing is left. */
export const loopInServer = `
create procedure bench_drain(p_worker text, p_batch integer, inout p_done bigint) language plpgsql as $$
declare
  v_results jsonb := '[]';
  v_reply jsonb;
  v_hint jsonb;
begin
  loop
    v_reply := jobforge_settle_jobs(p_worker, v_results, p_batch, array['bench'], null, v_hint);
    commit;
    p_done := p_done + jsonb_array_length(v_reply -> 'settled');
    v_hint := v_reply -> 'hint';
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', j -> 'id', 'attempt', j -> 'attempts', 'status', 'succeeded')), '[]')
    into v_results
    from jsonb_array_elements(v_reply -> 'jobs') j;
    if v_results = '[]' then
      exit when not exists (select from jobforge.queue) and not exists (select from jobforge.runs)
        and not exists (select from jobforge.wakeups);
      perform pg_sleep(0.001);
    end if;
  end loop;
end $$`;

/**
 * What claims and settles of jobs in no workflow do for workflows, in functions of the kernel: the function, the text,
 * and what stands there in a kernel without workflows.
 */
export const withoutWorkflows: readonly (readonly [name: string, text: string, without: string])[] = [
  // The short path of a claim, and the general one.
  [
    "due_unless_restrained",
    "coalesce((select w.due_at from jobforge.wakeups w order by w.due_at, w.id limit 1), 'infinity')",
    "'infinity'::timestamptz",
  ],
  ["claim", "v_wakeup_at := next_wakeup(p_tenant_id);\n  if v_wakeup_at", "if v_wakeup_at"],
  // Documents of runs, and the short paths of a settle.
  ["run_document", "case when p_step_id is not null then jobforge.step_of_run(p_step_id) end,", ""],
  ["end_plain_runs", "and j.step_id is null", ""],
  ["settle_plain_success", "and j.step_id is null", ""],
];
